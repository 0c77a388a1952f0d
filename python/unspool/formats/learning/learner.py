"""The learning loop: renders answers, proposes formats and proves them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from unspool._core import PATTERN_KEYS, ToolSchemas
from unspool.core.format.compile_format import compile_format
from unspool.core.stream.reading import read_chunks
from unspool.core.stream.tool_schemas import compile_tools
from unspool.errors import FormatError, LearnError
from unspool.formats.format_file import FormatFile
from unspool.formats.learning import holes
from unspool.formats.learning.call_texts import call_texts
from unspool.formats.learning.calls import Keys, propose_calls
from unspool.formats.learning.headers import with_header
from unspool.formats.learning.messages import Frames, propose_messages
from unspool.formats.learning.proof_answers import NEEDED, PLAIN, PROOFS, TOOLS_OF_PROOFS, with_markers
from unspool.formats.learning.prove import Failure, Reading, prove
from unspool.formats.learning.readings import Renderer
from unspool.formats.learning.shown import Shown, render_known
from unspool.formats.learning.write_toml import to_toml
from unspool.formats.templates.probe import CALLS, TYPED, Shape, tools_of
from unspool.formats.templates.rendered import EOS
from unspool.formats.templates.sandbox import Sandbox
from unspool.formats.templates.shapes import find_shape
from unspool.formats.templates.source import TemplateSource
from unspool.formats.templates.tagged_texts import has_words

__all__ = ["learn_template"]


def learn_template(source: TemplateSource, name: str, timeout: float) -> FormatFile:
    """Learn the format of a chat template; see `unspool.learn`."""
    tokens = {"bos_token": "<|zqbos|>", "eos_token": EOS, "unk_token": "", "pad_token": "", **source.tokens}
    with Sandbox(source.template, timeout, is_patient=True) as sandbox:
        common = {**tokens, "tools": tools_of((*CALLS, TYPED))}
        shape, has_calls = find_shape(sandbox, common)
        result = _learn_shape(sandbox, shape, has_calls, tokens, source.template, name)
        if isinstance(result, FormatFile):
            return result
        nearest = result
        for other in _other_shapes(shape, has_calls):
            result = _learn_shape(sandbox, other, has_calls, tokens, source.template, name)
            if isinstance(result, FormatFile):
                return result
            nearest = _nearer(nearest, result)
    parts = f" ({nearest.parts})" if nearest.parts else ""
    raise LearnError(f"the format is not learnt; {nearest.name}: {nearest.reason}{parts}")


def _other_shapes(shape: Shape, has_calls: bool) -> list[Shape]:
    """Return the shapes that the template may read too, and better."""
    found = [replace(shape, has_no_content=not shape.has_no_content)]
    return [*found, replace(shape, has_text_arguments=not shape.has_text_arguments)] if has_calls else found


def _learn_shape(
    sandbox: Sandbox, shape: Shape, has_calls: bool, tokens: dict[str, str], template: str, name: str
) -> FormatFile | Failure:
    """Learn a format from messages of one shape."""
    shown = render_known(sandbox, shape, {**tokens, "tools": tools_of((*CALLS, TYPED))}, template)
    if not has_calls and CALLS[0].name in shown.prompt:
        raise LearnError("the chat template tells the model of tools, and renders no call")
    renderer = Renderer(sandbox, shape, {**tokens, "tools": tools_of(TOOLS_OF_PROOFS)})
    result = _Search(renderer, shown, name, has_calls).run()
    if isinstance(result, FormatFile) or not shown.splits_turns:
        return result
    other = _Search(renderer, shown.of_one_turn(), name, has_calls).run()
    return other if isinstance(other, FormatFile) else _nearer(result, other)


def _nearer(first: Failure, second: Failure) -> Failure:
    """Return the failure of the attempt that read more; its reason says more."""
    return max(first, second, key=lambda failure: failure.passed)


@dataclass(frozen=True)
class _Proposal:
    """A proposal for reasoning and content, and for the end of the prompt."""

    frames: Frames
    turn: str


class _Search:
    """Tries proposals one after the other.

    Args:
        renderer: Renders the answers that a proposal must parse.
        shown: The renderings that proposals are derived from.
        name: The format's name.
        has_calls: Whether the template renders calls.
    """

    def __init__(self, renderer: Renderer, shown: Shown, name: str, has_calls: bool) -> None:
        self._renderer, self._shown, self._name, self._has_calls = renderer, shown, name, has_calls
        self._tools: ToolSchemas | None = compile_tools(tools_of(TOOLS_OF_PROOFS))
        self._plain = renderer.readings(PLAIN, shown)
        self._all = [*self._plain, *(renderer.readings(PROOFS, shown) if has_calls else [])]
        self._worst = Failure("learning", "nothing shows where reasoning, content and calls stand", -2)
        self._read_frames: Frames | None = None
        self._tried = 0

    def run(self) -> FormatFile | Failure:
        """Return the first format that parses everything, or the failure of the best one."""
        rendered = {reading.name for reading in self._all}
        lacking = [name for name in NEEDED if self._has_calls and name not in rendered]
        if lacking:
            return Failure(lacking[0], self._renderer.reasons[lacking[0]], -3)
        unread = []
        for frames in propose_messages(self._shown.messages):
            proposal, failure = self._with_turn(frames)
            if failure is not None:
                self._note(replace(failure, passed=-1))
                unread.append(proposal)
                continue
            self._read_frames = self._read_frames or frames
            file = self._complete(proposal, is_plain_read=True)
            if file is not None:
                return file
        for proposal in unread:  # a header may show where the content is
            if self._has_calls and has_words(proposal.frames.content_open):
                file = self._complete(proposal, is_plain_read=False)
                if file is not None:
                    return file
        return replace(self._worst, parts=self._parts())

    def _parts(self) -> str:
        """What was found of the format, and what was not."""
        frames = self._read_frames
        if frames is None:
            parts = "not found: content" if self._plain else "not rendered: an answer without calls"
        elif frames.has_reasoning:
            parts = (
                f"found: content, and reasoning in {frames.reasoning_open + '…' + frames.reasoning_close!r}"
            )
        else:
            parts = "found: content, and no reasoning"
        if not self._has_calls:
            return parts
        if self._tried:
            return f"{parts}; not found: calls, after {self._tried} proposals"
        call = self._shown.texts.get("call") or self._shown.texts.get("content_call")
        written = f", as in {call.text[:160]!r}" if call else ""
        return f"{parts}; not found: calls{written}"

    def _with_turn(self, frames: Frames) -> tuple[_Proposal, Failure | None]:
        """Return the proposal with the first turn that parses the answers without calls; or with the last turn, and its
        failure."""
        for turn in self._shown.turns(frames):
            proposal = _Proposal(frames, turn)
            failure = self._prove(self._file(proposal, {}), self._plain, proposal)
            if failure is None:
                break
        return proposal, failure

    def _complete(self, proposal: _Proposal, *, is_plain_read: bool) -> FormatFile | None:
        """Return the proposal with matching calls."""
        for keys in self._propose(proposal, is_plain_read):
            self._renderer.sandbox.check_time()
            self._tried += bool(keys)
            file = self._file(proposal, keys)
            failure = self._prove(file, self._all, proposal) or self._prove_thoroughly(file, proposal)
            if failure is not None:
                self._note(failure)
            elif isinstance(file, FormatFile):
                return _with_example(file, self._all)
        return None

    def _propose(self, proposal: _Proposal, is_plain_read: bool) -> Iterator[Keys]:
        if not self._has_calls:
            yield {}
            return
        typed = self._shown.texts["typed"].text if "typed" in self._shown.texts else ""
        for text in call_texts(self._shown, proposal.frames, self._renderer.shape):
            for keys in propose_calls(text, typed):
                if is_plain_read:
                    yield keys
                yield from with_header(proposal.frames, keys)

    def _file(self, proposal: _Proposal, keys: Keys) -> FormatFile | Failure:
        ends = self._shown.ends_with(proposal.frames, keys.get("end", ()))
        found: dict[str, Any] = {**proposal.frames.keys(ends), **keys, "end": ends, "turn": (proposal.turn,)}
        patterns = {
            key: tuple(map(holes.to_pattern, found[key])) for key in PATTERN_KEYS if any(found.get(key, ()))
        }
        try:
            return FormatFile(name=self._name, patterns=patterns)
        except FormatError as error:
            return Failure("compiling", str(error))

    def _prove(
        self, file: FormatFile | Failure, readings: list[Reading], proposal: _Proposal
    ) -> Failure | None:
        if isinstance(file, Failure):
            return file
        return prove(file, readings, self._tools, is_hidden=proposal.frames.is_hidden)

    def _prove_thoroughly(self, file: FormatFile | Failure, proposal: _Proposal) -> Failure | None:
        """Prove the format at every split, and with values that mention the format's own markers."""
        if isinstance(file, Failure):
            return file
        if file.is_plain:
            return Failure("all probes", "there are neither calls nor reasoning; everything is content", 1000)
        marked = with_markers(file.shape.call_tags) if self._has_calls else {}
        readings = [*self._all, *self._renderer.readings(marked, self._shown)]
        return prove(file, readings, self._tools, thorough=True, is_hidden=proposal.frames.is_hidden)

    def _note(self, failure: Failure) -> None:
        self._worst = max(self._worst, failure, key=lambda one: one.passed)


def _with_example(file: FormatFile, readings: list[Reading]) -> FormatFile:
    """Return the format with an example: the reading that has the most parts."""
    if not readings:
        return file
    best = max(readings, key=_part_count)
    message = read_chunks(compile_format(file), [best.text], prompt=best.lead or None)
    if len(message.tool_calls) != len(best.answer.calls) or message.malformed:
        return file  # an example would need the request's tools
    example: dict[str, Any] = {"input": best.text}
    if best.lead.strip() and best.lead not in file.patterns.get("turn", ()):
        example["prompt"] = best.lead
    for key in ("reasoning", "content"):
        if getattr(message, key):
            example[key] = getattr(message, key)
    if message.tool_calls:
        example["calls"] = [{"name": call.name, "arguments": call.arguments} for call in message.tool_calls]
    return FormatFile(to_toml(file, examples=(example,)), file.source)


def _part_count(reading: Reading) -> tuple[int, int]:
    answer = reading.answer
    return bool(answer.reasoning) + bool(answer.content) + bool(answer.calls), -len(reading.text)

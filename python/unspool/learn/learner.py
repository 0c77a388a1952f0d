"""Renders, proposes and proves: the way from a template to a format."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from unspool.errors import LearnError
from unspool.format_files import PATTERN_KEYS, FormatFile
from unspool.learn import holes
from unspool.learn.calls import CallText, propose_calls
from unspool.learn.headers import with_header
from unspool.learn.known import CALLS, CONTENT, REASONING, TYPED
from unspool.learn.messages import Frames, Messages, propose_messages
from unspool.learn.probe import USER, Answer, Shape, job_of, prompt_job, tools_of
from unspool.learn.proof_answers import BACKSLASHES, PLAIN, PROOFS, TOOLS_OF_PROOFS, with_markers
from unspool.learn.prove import Failure, Reading, prove
from unspool.learn.rendered import EOS, Rendered, common_tail, cut, turn_start, without_ids, without_tail
from unspool.learn.sandbox import Sandbox
from unspool.learn.shapes import THINKING, find_shape
from unspool.learn.texts import TAG, has_words
from unspool.schema import compile_tools

__all__ = ["Learner"]

#: What the learner's own renderings say.
_ANSWERS = {
    "content": Answer(CONTENT),
    "both": Answer(CONTENT, REASONING),
    "thought_call": Answer("", REASONING, CALLS[:1]),
    "thought_calls": Answer("", REASONING, CALLS),
    "content_call": Answer(CONTENT, "", CALLS[:1]),
    "content_calls": Answer(CONTENT, "", CALLS),
    "call": Answer(calls=CALLS[:1]),
    "calls": Answer(calls=CALLS),
    "typed": Answer(calls=(TYPED,)),
}


@dataclass
class Learner:
    """Learns one template's format.

    Attributes:
        sandbox: The process that renders the template.
        tokens: The special tokens that templates name, such as `eos_token`.
        shape: How the template wants a message.
        has_calls: Whether it renders calls.
    """

    sandbox: Sandbox
    template: str
    name: str
    tokens: dict[str, str] = field(default_factory=dict)
    shape: Shape = field(default_factory=Shape)
    has_calls: bool = False

    def learn(self) -> FormatFile:
        """The format.

        Raises:
            LearnError: No proposal reads every rendering as meant.
        """
        self._common = self._variables(tools_of((*CALLS, TYPED)))
        self._tools = compile_tools(tools_of(TOOLS_OF_PROOFS))
        self.shape, self.has_calls = find_shape(self.sandbox, self._common)
        shown = self._render_known()
        if not self.has_calls and CALLS[0].name in shown.prompt:
            raise LearnError("the chat template tells the model of tools, and renders no call")
        found = self._search(shown)
        if isinstance(found, Failure) and shown.splits_turns:
            found = self._search(shown.of_one_turn())
        if isinstance(found, Failure):
            raise LearnError(f"the format is not learnt; {found.name}: {found.reason}")
        return found

    def _search(self, shown: _Shown) -> FormatFile | Failure:
        """The first proposal that reads all renderings, or the failure of the one that reads most."""
        self._tail = shown.tail
        plain = self._readings(PLAIN, shown)
        proofs = self._readings(PROOFS, shown) if self.has_calls else []
        worst = Failure("learning", "no way to see reasoning and content fits", -1)
        unread: list[tuple[Frames, str]] = []
        for frames in propose_messages(shown.messages):
            turn, failure = self._choose_turn(shown, frames, plain)
            if failure is None and not self.has_calls:
                return self._proved(self._file(shown, frames, {}, turn), plain, shown, frames)
            if failure is None:
                found = self._search_calls(shown, frames, turn, [*plain, *proofs], is_plain_read=True)
            else:
                found = replace(failure, passed=-1)
                unread.append((frames, turn))
            if isinstance(found, FormatFile):
                return found
            worst = max(worst, found, key=lambda one: one.passed)
        for frames, turn in unread if self.has_calls else ():  # a header may show what content is
            if has_words(frames.content_open):
                found = self._search_calls(shown, frames, turn, [*plain, *proofs], is_plain_read=False)
                if isinstance(found, FormatFile):
                    return found
                worst = max(worst, found, key=lambda one: one.passed)
        return worst

    def _search_calls(
        self, shown: _Shown, frames: Frames, turn: str, readings: list[Reading], *, is_plain_read: bool
    ) -> FormatFile | Failure:
        """The same for the proposals of calls."""
        worst = Failure("learning", "no way to see the calls fits", -1)
        for keys in self._propose_calls(shown, frames, is_plain_read):
            self.sandbox.check_time()
            file = self._file(shown, frames, keys, turn)
            failure = prove(file, readings, self._tools, thorough=False, is_hidden=frames.is_hidden)
            if failure is None:
                return self._proved(file, readings, shown, frames)
            worst = max(worst, failure, key=lambda one: one.passed)
        return worst

    def _choose_turn(self, shown: _Shown, frames: Frames, plain: list[Reading]) -> tuple[str, Failure | None]:
        """The turn with which the plain readings are right, or the last one and what fails."""
        turns = shown.turns(frames)
        for turn in turns:
            file = self._file(shown, frames, {}, turn)
            failure = prove(file, plain, self._tools, thorough=False, is_hidden=frames.is_hidden)
            if failure is None:
                break
        return turn, failure

    def _variables(self, tools: list[dict[str, Any]]) -> dict[str, Any]:
        tokens = {"bos_token": "<|zqbos|>", "eos_token": EOS, "unk_token": "", "pad_token": "", **self.tokens}
        return {**tokens, "tools": tools}

    def _render_known(self) -> _Shown:
        hidden = _tags_that_close(self.template)
        thoughts = [Answer(f"{REASONING}{tag}{CONTENT}") for tag in hidden]
        tried = [*thoughts, *([thought, Answer("zqlater")] for thought in thoughts)]
        answers = [*_ANSWERS.values(), *tried]
        jobs = [
            prompt_job(self.shape), prompt_job(self.shape, False), prompt_job(Shape()),
            prompt_job(Shape(variables=THINKING)), job_of([Answer(CONTENT), Answer("zqlater")], self.shape),
        ]  # fmt: skip
        made = self.sandbox.render([*jobs, *(job_of(answer, self.shape) for answer in answers)], self._common)
        prompt, bare, default, thinking, later = (made[number][0] or "" for number in range(5))
        if not prompt:
            raise LearnError(f"the chat template refuses a plain prompt: {made[0][1]}")
        made = made[len(jobs) :]
        found: dict[str, Rendered] = {}
        for name, (text, _) in zip(_ANSWERS, made, strict=False):
            if text is not None:
                found[name] = cut(text, prompt, bare)
        if later:
            found["later"] = cut(later, prompt, bare)
        opened = prompt[len(bare) :] + thinking[len(bare) :]
        texts = [text or "" for text, _ in made[len(_ANSWERS) :]]
        gone = tuple(
            tag
            for number, tag in enumerate(hidden)
            if f"<{tag[2:]}" in opened
            and any(CONTENT in text and REASONING not in text for text in texts[number :: len(hidden)])
        )
        return _Shown(found, prompt, bare, default, gone)

    def _readings(self, answers: dict[str, Answer], shown: _Shown) -> list[Reading]:
        """What the template renders of the answers, as far as it does."""
        common = self._variables(tools_of(TOOLS_OF_PROOFS))
        jobs = [prompt_job(self.shape), prompt_job(self.shape, False)]
        for answer in answers.values():
            jobs += [job_of(answer, self.shape), job_of(_swapped(answer), self.shape)]
        made = self.sandbox.render(jobs, common)
        prompt, bare = made[0][0] or "", made[1][0] or ""
        found = []
        for number, (name, answer) in enumerate(answers.items()):
            text, twin = made[2 + 2 * number][0], made[3 + 2 * number][0]
            if text is None or (text == twin and answer.content and not answer.reasoning):
                continue
            rendered = without_tail(cut(text, prompt, bare, _first_line(answer)), self._tail)
            seen = _seen(answer, rendered.text)
            is_lossy = name == BACKSLASHES and "='C:\\new\\t" in rendered.text
            if seen is not None and not is_lossy and shown.is_one_answer(rendered.text):
                found.append(Reading(name, rendered.prompt, rendered.text, seen, rendered.rest))
        return found

    def _propose_calls(self, shown: _Shown, frames: Frames, is_plain_read: bool) -> Iterator[dict[str, tuple[str, ...]]]:
        typed = shown.texts["typed"].text if "typed" in shown.texts else ""
        for text in self._call_texts(shown, frames):
            for keys in propose_calls(text, typed):
                if is_plain_read:
                    yield keys
                yield from with_header(frames, keys)

    def _call_texts(self, shown: _Shown, frames: Frames) -> Iterator[CallText]:
        for count, kinds in ((2, ("content_calls", "calls", "thought_calls")), (1, ("content_call", "call", "thought_call"))):
            for kind in kinds:
                rendered = shown.texts.get(kind)
                if rendered is None or CALLS[count - 1].name not in rendered.text:
                    continue
                start = _calls_start(rendered, frames, kind)
                if start is not None:
                    text, start = without_ids(rendered.text, self.shape), start
                    if kind in ("calls", "call") and shown.messages.repeats_turn:
                        text = rendered.lead + text
                    yield CallText(text, start, count)

    def _file(self, shown: _Shown, frames: Frames, keys: dict[str, tuple[str, ...]], turn: str) -> FormatFile:
        ends = [*shown.ends, *keys.get("end", ())]
        if not frames.content_close and not shown.ends and "content" in shown.texts:
            after = shown.texts["content"].text.split(CONTENT, 1)[-1].strip()
            tag = TAG.match(after)
            ends += [tag[0]] if tag else []
        ends = ends or list(shown.later)
        found = {**frames.keys(), **keys, "end": tuple(dict.fromkeys(ends)), "turn": (turn,)}
        patterns = {
            key: tuple(holes.to_pattern(text) for text in found[key])
            for key in PATTERN_KEYS
            if any(found.get(key, ()))
        }
        return FormatFile(name=self.name, patterns=patterns)

    def _proved(self, file: FormatFile, readings: list[Reading], shown: _Shown, frames: Frames) -> FormatFile:
        marked = self._readings(with_markers(_markers(file)), shown) if self.has_calls else []
        if file.is_plain:
            raise LearnError("the chat template renders neither calls nor reasoning: everything is content")
        failure = prove(file, [*readings, *marked], self._tools, thorough=True, is_hidden=frames.is_hidden)
        if failure is not None:
            raise LearnError(f"the learnt format does not hold; {failure.name}: {failure.reason}")
        return file


class _Shown:
    """The learner's renderings, with what is behind every answer taken off."""

    def __init__(
        self,
        found: dict[str, Rendered],
        prompt: str,
        bare: str,
        default: str,
        hidden: tuple[str, ...],
        has_one_turn: bool = False,
    ) -> None:
        self._found, self._hidden, self._has_one_turn = found, hidden, has_one_turn
        self.prompt, self._bare, self._default = prompt, bare, default
        turn = prompt[turn_start(prompt, bare) :]
        self._head = turn.strip().split("\n")[0]
        found = {name: rendered for name, rendered in found.items() if self.is_one_answer(rendered.text)}
        self.tail = _tail(found)
        self.texts = {name: without_tail(rendered, self.tail) for name, rendered in found.items()}
        self.ends = _end_of(self.tail)
        text = found["later"].text if "later" in found else ""
        later = text.split(CONTENT, 1)[-1].split(str(USER["content"]))[0] if CONTENT in text else ""
        self.later = _end_of(later)
        views = (self.texts.get(name) for name in ("content", "both", "thought_call", "content_call"))
        self.messages = Messages(*views, turn=turn, call_name=CALLS[0].name, hidden=hidden)

    @property
    def splits_turns(self) -> bool:
        """Whether some answers are written as several turns."""
        return bool(self._head) and any(self._head in rendered.text for rendered in self._found.values())

    def of_one_turn(self) -> _Shown:
        """The same without answers that are written as several turns: the model ends each turn by itself."""
        return _Shown(self._found, self.prompt, self._bare, self._default, self._hidden, has_one_turn=True)

    def is_one_answer(self, text: str) -> bool:
        """Whether a rendering counts."""
        return not (self._has_one_turn and self._head in text)

    def turns(self, frames: Frames) -> list[str]:
        """What the prompt ends with by default: as it is, and without an opener of reasoning.

        A reasoning that the prompt opens and closes is no part of it.
        """
        turn = self._default[turn_start(self._default, self._bare) :]
        opener, closer = frames.reasoning_open.strip(), frames.reasoning_close.strip()
        if closer and closer in turn and opener in turn:
            turn = turn[: turn.index(opener)]
        without = turn.rstrip().removesuffix(opener) if opener else turn
        return list(dict.fromkeys([turn, without]))


def _end_of(text: str) -> tuple[str, ...]:
    """The first marker of what stands behind an answer: a tag, or a word that is no text."""
    words = text.split()
    if not words or EOS in words[0]:
        return ()
    tag = TAG.match(text.strip())
    if tag:
        return (tag[0],)
    return (words[0],) if not any(letter.isalpha() for letter in words[0][:1]) and len(words[0]) > 1 else ()


def _tail(found: dict[str, Rendered]) -> str:
    """What stands behind every answer, unless it also stands within one."""
    afters = []
    for name, mark in (("content", CONTENT), ("call", "zqvalc"), ("calls", "zqsecc")):
        text = found[name].text if name in found else ""
        if mark in text:
            afters.append(text.rsplit(mark, 1)[1])
    if not afters:
        return ""
    tail = common_tail(afters)
    within = [
        found[name].text.rsplit(CALLS[0].name, 1)[0] for name in ("content_call", "thought_call") if name in found
    ]
    tags = list(TAG.finditer(tail))
    own = [tag for tag in tags if not any(tag[0] in text for text in within)]
    if not tags or own[:1] == tags[:1]:
        return tail
    return tail[own[0].start() :] if own else ""


def _calls_start(rendered: Rendered, frames: Frames, kind: str) -> int | None:
    """Where the calls begin: behind the content, or behind the reasoning's markup."""
    text = rendered.text
    place = 0
    name = text.find(CALLS[0].name)
    if kind.startswith("content"):
        place = text.find(CONTENT) + len(CONTENT)
        if CONTENT not in text or place > name:
            return None
        if has_words(frames.content_close) and text.startswith(frames.content_close, place):
            place += len(frames.content_close)
        return place
    if kind.startswith("thought"):
        if REASONING not in text:
            return None
        place = text.find(REASONING) + len(REASONING)
    closer = frames.reasoning_close.strip()
    at = text.rfind(closer, place, name) if closer else -1
    return at + len(closer) if at >= 0 else place


def _seen(answer: Answer, text: str) -> Answer | None:
    """The answer without what the template leaves out; None: it leaves out a call."""
    for call in answer.calls:
        if call.name not in text:
            return None
    content = answer.content if answer.content.strip().split("\n")[0] in text else ""
    reasoning = answer.reasoning if answer.reasoning.strip().split("\n")[0] in text else ""
    return Answer(content, reasoning, answer.calls)


def _first_line(answer: Answer) -> str:
    return (answer.reasoning or answer.content).split("\n")[0]


def _swapped(answer: Answer) -> Answer:
    return Answer(answer.reasoning, answer.content, answer.calls)


def _tags_that_close(template: str) -> list[str]:
    found = re.findall(r"</[a-zA-Z_:]+>", template)
    return [tag for tag in dict.fromkeys(found) if "think" in tag or found.count(tag) > 1][:12]


def _markers(file: FormatFile) -> tuple[str, ...]:
    """The tags of the format's calls."""
    texts = [text for key in ("parameter", "call", "calls") for text in file.patterns.get(key, ())]
    tags = [tag for text in texts for tag in re.findall(r"<[^<>${}]*>|\[[^\[\]${}\s]+\]", text)]
    return tuple(dict.fromkeys(tags))

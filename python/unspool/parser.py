"""Text or token ids in, deltas out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

from unspool import _core
from unspool._core import Delta, DeltaChannel, Format, ToolSchemas, Vocabulary
from unspool.choose_format import choose_format, kept_reasoning
from unspool.errors import ArgumentError
from unspool.format_files import FormatFile
from unspool.formats import Trust, compile_format
from unspool.message import Message, build_message
from unspool.schema import compile_tools
from unspool.stray_tag import warn_of_stray_tag
from unspool.vocabulary_sources import from_tokenizer

__all__ = ["Parser", "parse"]

ReasoningField = Literal["reasoning_content", "reasoning"]
StartIn = Literal["auto", "content", "reasoning"]
IncompleteCalls = Literal["forward", "withhold"]
StopIn = Literal["content", "everywhere"]
UnknownTools = Literal["forward", "content", "drop-with-report"]
_UNKNOWN_TOOLS = get_args(UnknownTools)


class Parser(_core.TokenStreamer):
    """One answer's parser: feed it chunks, get the deltas that became certain.

    Args:
        format: The name of a format (`unspool.formats()` lists them), a `FormatFile`, or a compiled
            `Format`. "auto" is what `detect` finds best for the tokenizer, "hf" or
            "response_template" the tokenizer's own response template.
        tools: The request's tools, as the API holds them, or compiled `ToolSchemas`. None: not known,
            every name is taken; an empty list: the request has none, and calls are content.
        reasoning: The name of the format whose reasoning is meant; None: the format's own; False or
            "none": reasoning tags are content.
        prompt: What the model was given, as text or (with `tokenizer`) token ids: it tells whether the
            output starts inside reasoning. Not emitted.
        tokenizer: A tokenizer or `Vocabulary`, for token ids; markers that are tokens are then known
            by id, and text that merely spells one is text.
        tool_choice: "auto"; "none": calls are content; "required", or a tool's name (also as the API's
            dict): the output may also be what guided decoding writes, the list of calls or the
            arguments alone.
        tool_calls_in_reasoning: "auto": a call inside reasoning waits. It is text if the reasoning closes
            behind it, and a call if the output ends or another call follows. "keep": it is text. "end": it
            ends the reasoning and counts. None: as the format says.
        unknown_tools: What becomes of a call to a tool that the request does not offer: "forward" it,
            make its text "content", or "drop-with-report" (`Message.dropped`).
        parallel_tool_calls: False: only the first call is sent, the rest is in `Message.dropped`.
        repair: Read JSON with single quotes, trailing commas, Python's literals, bare keys, and close
            what the end of the output left open; `ToolCall.repairs` tells what was done.
        only_reasoning: Take the reasoning with its markup out, and pass everything else on as content, byte
            for byte, calls and their markup included: for a stack that reads reasoning first and calls
            behind it. `region` tells an open call all the same.
        start_in: "auto": as the prompt and the format say; or "content" or "reasoning".
        max_calls: How many calls one answer may have. The text of further ones is malformed.
        max_argument_bytes: How long one call's arguments may be.
        max_depth: How deep the arguments' lists and objects may be nested, at most 512.
        max_held_bytes: How much text may be held back until it shows whether it is a call. Beyond that,
            it is text.
        reasoning_field: The name of reasoning on the wire.
        trust: How markers that are tokens are known where ids come: "id", "text" or "either".
        skip_special_tokens: Leave special tokens that are no markers of the format out of content and
            reasoning. Headers, names and arguments read them all the same.
        stop, include_stop: Stop strings: they end the output, and are part of it or not.
        stop_in: "content": a stop string counts in content alone, and markup does not match; "everywhere":
            in reasoning and in calls too, where ids come alone. One inside a call leaves it incomplete.
        incomplete_calls: What the deltas show of a call that is cut off or turns out malformed. "forward":
            what came of it; "withhold": nothing, so the deltas of a call wait until it is complete. The
            message has the call in any case, with its status.
        keep_message: False: `finish` gives no texts, so that memory stays flat.
        audit: Tell the fate of every byte in `Message.audit`. With `keep_message=False` it holds the last
            chunk's only: read `message.audit` after each chunk.
        id_seed: Not 0: the same call ids every time, for tests.

    Raises:
        UnknownFormatError: No format has this name.
        ArgumentError: An option is none of its choices.
        VocabularyError: The tokenizer cannot be compiled.
    """

    def __init__(
        self,
        format: str | FormatFile | Format,
        tools: Iterable[Any] | ToolSchemas | None = None,
        *,
        reasoning: str | bool | None = None,
        prompt: str | Sequence[int] | None = None,
        tokenizer: Any = None,
        tool_choice: str | Mapping[str, Any] | None = "auto",
        tool_calls_in_reasoning: Literal["auto", "keep", "end"] | None = None,
        unknown_tools: UnknownTools = "forward",
        parallel_tool_calls: bool = True,
        repair: bool = False,
        only_reasoning: bool = False,
        start_in: StartIn = "auto",
        max_calls: int = 1000,
        max_argument_bytes: int = 16 << 20,
        max_depth: int = 512,
        max_held_bytes: int = 1 << 20,
        reasoning_field: ReasoningField = "reasoning_content",
        trust: Trust = "id",
        skip_special_tokens: bool = True,
        stop: str | Sequence[str] = (),
        include_stop: bool = False,
        stop_in: StopIn = "content",
        incomplete_calls: IncompleteCalls = "forward",
        keep_message: bool = True,
        audit: bool = False,
        id_seed: int = 0,
        _first_put: str = "output",
        _channel: DeltaChannel | None = None,
        _choice: int = 0,
        _closes_channel: bool = True,
        _keeps_recipe: bool = False,
    ) -> None:
        kept = kept_reasoning(format, reasoning)
        format, reasoning = choose_format(format, tokenizer, reasoning)
        vocabulary: Vocabulary | None = None if tokenizer is None else from_tokenizer(tokenizer)
        schemas = compile_tools(tools)
        named, required, off = _read_choice(tool_choice, schemas)
        if start_in not in ("auto", "content", "reasoning"):
            raise ArgumentError(f"start_in is '{start_in}'; use 'auto', 'content' or 'reasoning'")
        if unknown_tools not in _UNKNOWN_TOOLS:
            raise ArgumentError(
                f"unknown_tools is '{unknown_tools}'; use 'forward', 'content' or 'drop-with-report'"
            )
        compiled = compile_format(
            format,
            reasoning=reasoning,
            tool_calls_in_reasoning=tool_calls_in_reasoning,
            tools=not off and (schemas is None or len(schemas) > 0),
            tool_choice=named,
            required=required,
            vocabulary=vocabulary,
            trust=trust,
        )
        super().__init__(
            compiled,
            tools=schemas,
            vocabulary=vocabulary,
            prompt=prompt,
            starts_in_reasoning=None if start_in == "auto" else start_in == "reasoning",
            reasoning_field=reasoning_field,
            skip_special_tokens=skip_special_tokens,
            stop=[stop] if isinstance(stop, str) else list(stop),
            include_stop=include_stop,
            stop_in=stop_in,
            incomplete_calls=incomplete_calls,
            first_put=_first_put,
            channel=_channel,
            choice=_choice,
            closes_channel=_closes_channel,
            id_seed=id_seed,
            keeps_message=keep_message,
            audit=audit,
            unknown_tools=unknown_tools,
            parallel_tool_calls=parallel_tool_calls,
            repair=repair,
            only_reasoning=only_reasoning,
            max_calls=max_calls,
            max_argument_bytes=max_argument_bytes,
            max_depth=max_depth,
            max_held_bytes=max_held_bytes,
            keeps_recipe=_keeps_recipe,
            kept_reasoning=kept,
        )
        self._reasoning_field = reasoning_field
        # What may be warned of: reasoning that the prompt may have opened.
        self._untold = (format, reasoning) if start_in == "auto" and not only_reasoning else None

    def finish(self, reason: str = "stop") -> Message:
        """End the stream; get the last deltas (`Message.deltas`) and the whole message.

        Args:
            reason: Why generation ended: "stop", "length", "error" or "cancelled".

        A stream that a chunk's finish reason has ended gives its message, without deltas.
        """
        deltas: list[Delta] = []
        if not self.is_finished:
            deltas = self.parse_chunk(None, None, reason)
        return self._whole(deltas)

    def _whole(self, deltas: list[Delta]) -> Message:
        message = build_message(self, deltas, self._reasoning_field)
        if self._untold and not message.reasoning and message.content and not self._has_prompt:
            warn_of_stray_tag(message.content, *self._untold)
        return message

    @property
    def message(self) -> Message:
        """The message so far."""
        return build_message(self, [], self._reasoning_field)

    def parse(self, output: str | bytes | Sequence[int], finish_reason: str = "stop") -> Message:
        """Parse a whole output, text or token ids: one chunk and the end."""
        if isinstance(output, (str, bytes)):
            deltas = self.parse_chunk(output, None, finish_reason)
        else:
            deltas = self.parse_chunk(None, output, finish_reason)
        return self._whole(deltas)


def parse(
    output: str | bytes | Sequence[int],
    format: str | FormatFile | Format,
    tools: Iterable[Any] | ToolSchemas | None = None,
    *,
    finish_reason: str = "stop",
    **options: Any,
) -> Message:
    """Parse a whole output with a new `Parser`; `options` are the parser's."""
    return Parser(format, tools, **options).parse(output, finish_reason)


def _read_choice(
    choice: str | Mapping[str, Any] | None, schemas: ToolSchemas | None
) -> tuple[str | None, bool, bool]:
    """The named tool, whether some tool is required, whether tools are off."""
    if choice is None or choice == "auto":
        return None, False, False
    if choice == "none":
        return None, False, True
    if choice in ("required", "any"):
        return None, True, False
    if isinstance(choice, Mapping):
        name = (choice.get("function") or choice).get("name")
        if not isinstance(name, str):
            raise ArgumentError("tool_choice names no tool; write {'function': {'name': ...}}")
        choice = name
    if schemas is not None and choice not in schemas:
        raise ArgumentError(
            f"tool_choice is '{choice}'; use 'auto', 'none', 'required' or the name of one of the tools"
        )
    return choice, False, False

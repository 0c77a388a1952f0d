"""Text or token ids in, deltas out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unspool import _core
from unspool._core import Delta, DeltaChannel, Format, ToolSchemas
from unspool.format_files import FormatFile
from unspool.message import Message, build_message
from unspool.snapshots import seal, unseal
from unspool.stray_tag import warn_of_stray_tag
from unspool.stream_options import (
    IncompleteCalls,
    ReasoningField,
    StartIn,
    StopIn,
    ToolCallsInReasoning,
    Trust,
    UnknownTools,
    WhiteSpace,
)
from unspool.stream_recipe import make_recipe, with_defaults

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ChannelParser", "Parser", "begin_stream", "parse"]


class Parser(_core.TokenStreamer):
    """One answer's parser: feed it chunks, get the deltas that became certain.

    Args:
        format: The name of a format (`unspool.formats()` lists them), a `FormatFile`, or a compiled
            `Format`. "auto" is what `detect` finds best for the tokenizer, "hf" or
            "response_template" the tokenizer's own response template.
        tools: The request's tools, as the API holds them, or compiled `ToolSchemas`. None: not known,
            every name is taken; an empty list: the request has none, and calls are content.
        reasoning: The name of the format whose reasoning is meant; None: the format's own; False or "none":
            reasoning tags are content.
        prompt: What the model was given, as text or (with `tokenizer`) token ids. It shows whether the output
            starts inside reasoning. Not emitted.
        tokenizer: A tokenizer or `Vocabulary`, for token ids; markers that are tokens are then known by id,
            and text that merely spells one is text.
        tool_choice: "auto"; "none": calls are content; "required", or a tool's name (also as the API's dict):
            the output may also be what guided decoding writes, the list of calls or the arguments alone.
        tool_calls_in_reasoning: "auto": a call inside reasoning waits. It is text if the reasoning closes
            after it, and a call if the output ends or another call follows. "keep": it is text. "end": it
            ends the reasoning and counts. None: as the format says.
        unmarked_calls: True: a bare or fenced JSON object on a line of its own is a call too, if it names one of
            `tools` and fits its schema. For models that do not write the markers they were asked for. Such a
            call is sent when it is complete.
        unknown_tools: What becomes of a call to a tool that the request does not offer: "forward" it, make
            its text "content", or "drop-with-report" (`Message.dropped`).
        parallel_tool_calls: False: only the first call is sent, the rest is in `Message.dropped`.
        repair: Read JSON with single quotes, trailing commas, Python's literals, bare keys, and close what
            the end of the output left open; `ToolCall.repairs` lists what was done.
        only_reasoning: Take the reasoning with its markup out, and pass everything else on as content, byte
            for byte, calls and their markup included: for a stack that reads reasoning first and calls after
            it. `region` reports an open call all the same.
        start_in: "auto": as the prompt and the format say; or "content" or "reasoning".
        max_calls: How many calls one answer may have. The text of further ones is malformed.
        max_argument_bytes: How long one call's arguments may be.
        max_depth: How deep the arguments' lists and objects may be nested, at most 512.
        max_held_bytes: How much text may be held back until it is clear whether it is a call. Beyond that, it
            is text.
        reasoning_field: The name of reasoning on the wire.
        trust: How markers that are tokens are known if ids come: "id", "text" or "either".
        skip_special_tokens: Leave special tokens that are no markers of the format out of content and
            reasoning. Headers, names and arguments read them all the same.
        white_space: White space at both ends of the content and of the reasoning. "keep": all but what belongs
            to the format's markers; "trim": none. It then waits until text follows.
        stop: Stop strings: the first one ends the output.
        include_stop: Whether the stop string is part of the output.
        stop_in: "content": a stop string counts in content alone, and markup does not match; "everywhere": in
            reasoning and in calls too, where ids come alone. One inside a call leaves it incomplete.
        incomplete_calls: What the deltas show of a call that is cut off or malformed. "forward": what came of
            it; "withhold": nothing, so the deltas of a call wait until it is complete. The message has the
            call in any case, with its status.
        keep_message: False: `finish` gives no texts, so that memory stays flat.
        audit: Report the fate of every byte in `Message.audit`. With `keep_message=False` it holds the last
            chunk's only: read `message.audit` after each chunk.
        labels: Say what each token id is, in `Message.labels`: content, reasoning, markup, a call's name or
            arguments. Needs a tokenizer.
        rollback_window: How many of the last token ids `rollback` may take back. 0: it takes none, and costs
            nothing.
        id_seed: Not 0: the same call ids every time, for tests.

    Raises:
        UnknownFormatError: No format has this name.
        ArgumentError: An option is none of its choices.
        VocabularyError: The tokenizer cannot be compiled.
    """

    _reasoning_field: str
    _untold: tuple[Any, Any] | None  # the format and reasoning that a stray tag is compared with

    def __init__(
        self,
        format: str | FormatFile | Format,
        tools: Iterable[Any] | ToolSchemas | None = None,
        *,
        reasoning: str | bool | None = None,
        prompt: str | Sequence[int] | None = None,
        tokenizer: Any = None,
        tool_choice: str | Mapping[str, Any] | None = "auto",
        tool_calls_in_reasoning: ToolCallsInReasoning | None = None,
        unmarked_calls: bool = False,
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
        white_space: WhiteSpace = "keep",
        stop: str | Sequence[str] = (),
        include_stop: bool = False,
        stop_in: StopIn = "content",
        incomplete_calls: IncompleteCalls = "forward",
        keep_message: bool = True,
        audit: bool = False,
        labels: bool = False,
        rollback_window: int = 0,
        id_seed: int = 0,
    ) -> None:
        begin_stream(self, locals())

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

    def snapshot(self, *, key: bytes = b"") -> bytes:
        """The stream's state as bytes, for `restore` in this process or another one.

        Args:
            key: A secret of 16 to 64 bytes: without it no one makes bytes that `restore` takes with it.

        Raises:
            StreamError: Deltas wait for their channel.
            ArgumentError: The stream has a `rollback_window`.
        """
        return seal("TokenStreamer", self._state(), key)

    @classmethod
    def restore(cls, snapshot: bytes, *args: Any, key: bytes = b"", **options: Any) -> Self:
        """A stream that goes on where the one of the snapshot stood.

        Args:
            snapshot: What `snapshot` returned. Without a key, only from those you trust.
            args, options: What that stream was made with. The prompt, `choice`, and where deltas go need not
                be the same.
            key: That of `snapshot`.

        Raises:
            ArgumentError: The bytes are no snapshot, or damaged, or of a stream with another vocabulary, format,
                list of tools or choice of options; or the key is another one.
        """
        state = unseal("TokenStreamer", snapshot, key)
        stream = cls(*args, **options)
        stream._restore_state(state)
        return stream

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


class ChannelParser(Parser):
    """A `Parser` whose deltas go into a channel; `TokenStreamer` is the one for token ids.

    Args:
        format, tools, options: As of `Parser`.
        channel, choice, closes_channel: As of `TokenStreamer`.
    """

    def __init__(
        self,
        format: str | FormatFile | Format,
        tools: Iterable[Any] | ToolSchemas | None = None,
        *,
        channel: DeltaChannel | None,
        choice: int = 0,
        closes_channel: bool = True,
        **options: Any,
    ) -> None:
        given = with_defaults(format, tools, options)
        begin_stream(self, given, channel=channel, choice=choice, closes_channel=closes_channel)


def begin_stream(stream: Parser, given: dict[str, Any], **delivery: Any) -> None:
    """Run the native constructor.

    Args:
        given: The format, the tools and every option by name.
        delivery: Arguments of the native class that say where deltas go.
    """
    recipe, format, reasoning = make_recipe(given)
    stream._reasoning_field = given["reasoning_field"]
    _core.TokenStreamer.__init__(stream, recipe, stream._reasoning_field, **delivery)
    may_warn = given["start_in"] == "auto" and not given["only_reasoning"]
    stream._untold = (format, reasoning) if may_warn else None


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

"""Text or token ids in, deltas out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from unspool._core import Delta, DeltaChannel, Format, ToolSchemas
from unspool._core import TokenStreamer as NativeTokenStreamer
from unspool.core.format.other_families import Also
from unspool.core.format.registry import is_known
from unspool.core.stream.snapshots import seal, unseal
from unspool.core.stream.stream_options import PARSER_OPTIONS
from unspool.core.stream.stream_recipe import recipe_options, with_defaults
from unspool.core.stream.tool_schemas import compile_tools
from unspool.core.wrong_call import shown, unknown_option
from unspool.errors import ArgumentError, UnknownFormatError
from unspool.formats.format_file import FormatFile
from unspool.streams.choose_recipe import choose_recipe
from unspool.streams.stray_tag import warn_of_stray_tag
from unspool.streams.wrong_format import find_format_of_calls

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from unspool.core.stream.message import Message
    from unspool.core.stream.parser_options import ParserOptions

__all__ = ["ChannelParser", "Parser", "begin_stream", "parse"]


class Parser(NativeTokenStreamer):
    """Parses one answer: feed it chunks, and it returns the deltas that became certain.

    Args:
        format: The name of a format (`unspool.formats()` lists them), a `FormatFile`, or a compiled
            `Format`. "auto" is the format that `detect` finds for the tokenizer. "hf" or
            "response_template" is the tokenizer's own response template.
        tools: The request's tools: functions, models or dicts (`unspool.tool`), or compiled `ToolSchemas`. None: unknown, so
            every tool name is accepted. An empty list: the request has no tools, and calls are content.
        reasoning: The name of the format whose reasoning markup is used. None: this format itself. False or
            "none": reasoning tags are content.
        prompt: The prompt, as text or (with `tokenizer`) as token ids. It decides whether the output starts
            inside reasoning. None of it is emitted.
        tokenizer: A tokenizer or `Vocabulary`; required for token ids. Markers that are tokens are then
            matched by id, and text that only spells one stays text.
        tool_choice: "auto": the model decides. "none": calls are content. "required" or a tool's name (also
            as the API's dict): the output may also have the form of guided decoding, which is a bare list of
            calls or only the arguments.
        tool_calls_in_reasoning: "auto": hold back calls inside reasoning. They are text if the reasoning
            closes after them, and calls if the output ends. "keep": they are text. "end": a call ends the
            reasoning. None: the format decides.
        unmarked_calls: True: a call without its markers is also a call, in every form that the format's
            family writes: a bare or fenced JSON object, a list of Python calls, or the name and then the
            arguments (`get_weather{"city": "Paris"}`). It must begin a line, name one of `tools` and fit its
            schema. For models that omit the markers. Such a call is emitted when it is complete.
        also: Other formats whose calls count too, as a name or a list of names; "any": all formats. Such a
            call must name one of `tools` and fit its schema. It is emitted when it is complete, and
            `ToolCall.written_as` names its format.
        start_in: The region in which the output starts: "content", "reasoning", or "auto" to derive it from
            the prompt and the format.
        reasoning_field: The field that holds reasoning in deltas and messages.
        trust: How markers that are tokens are matched when ids are given: by "id", by "text", or "either".
        strict_markers: True: a marker that is not a token of the vocabulary counts only inside what a token
            has opened; anywhere else it is text. A call without a marker is also text. Requires `tokenizer`
            and token ids.
        unknown_tools: Handling of a call to a tool that the request does not offer: "forward" emits it,
            "content" emits its text as content, "drop-with-report" only reports it in `Message.dropped`.
        calls_in_fences: Handling of a call that the content quotes: in a fence or backquotes, or on a line
            that begins as an item of a list or a quotation. "auto": hold it back. It is text if prose
            follows, and a call if the output ends or other calls follow. "keep": it is text. "call": it is a
            call.
        parallel_tool_calls: False: only the first call is emitted; further ones are reported in
            `Message.dropped`.
        incomplete_calls: Whether the deltas include calls that are cut off or malformed. "forward": yes, up
            to the end or the fault. "withhold": no; a call's deltas are held back until it is complete. The
            message always has the call, with its status.
        repair: Accept JSON with single quotes, trailing commas, Python literals and bare keys, and close what
            the end of the output left open. `ToolCall.repairs` lists the repairs.
        only_reasoning: Extract only the reasoning and its markup. Everything else, including calls and their
            markup, is emitted as content, byte for byte. For a stack that parses calls in a second pass.
            `region` still reports an open call.
        max_calls: Maximum number of calls in one answer. The text of further calls is malformed.
        max_argument_bytes: Maximum size of one call's arguments, in bytes.
        max_depth: Maximum nesting depth of lists and objects in the arguments, at most 512.
        max_held_bytes: Maximum number of bytes held back while they may still become a call. Beyond that,
            they are text.
        skip_special_tokens: Omit special tokens from content and reasoning unless they are markers of the
            format. Headers, names and arguments still read them.
        white_space: White space at both ends of the content and of the reasoning. "keep": keep it, except
            what belongs to the format's markers. "trim": remove it; white space is then held back until text
            follows.
        stop: Stop strings. The first match ends the output.
        include_stop: Whether the stop string is part of the output.
        stop_in: "content": match stop strings in content only, and never in markup. "everywhere": also match
            them in reasoning and calls, if the input is token ids alone. A match inside a call leaves the
            call incomplete.
        keep_message: False: `finish` returns a message without texts, so memory stays flat.
        audit: Report the fate of every byte in `Message.audit`. With `keep_message=False` it covers only the
            last chunk: read `message.audit` after each chunk.
        labels: Label each token id in `Message.labels`: content, reasoning, markup, a call's name or
            arguments. Needs a tokenizer.
        rollback_window: How many of the last token ids `rollback` can take back. 0 disables it, at no cost.
        id_seed: Seed of the call ids; any value but 0 makes them reproducible, for tests.

    Raises:
        UnknownFormatError: No format has this name.
        ArgumentError: An option is none of its choices.
        VocabularyError: The tokenizer cannot be compiled.
    """

    _reasoning_field: str
    _tag_formats: tuple[Any, Any] | None  # see `Recipe.tag_formats`
    _offered: tuple[Any, ToolSchemas] | None  # the format that should parse calls of these tools

    def __init__(
        self,
        format: str | FormatFile | Format,
        tools: Iterable[Any] | ToolSchemas | None = None,
        *,
        # Written by docs/make_options.py: keywords.
        reasoning: str | bool | None = None,
        prompt: str | Sequence[int] | None = None,
        tokenizer: Any = None,
        tool_choice: str | Mapping[str, Any] | None = "auto",
        tool_calls_in_reasoning: Literal["auto", "keep", "end"] | None = None,
        unmarked_calls: bool = False,
        also: Also = (),
        start_in: Literal["auto", "content", "reasoning"] = "auto",
        reasoning_field: Literal["reasoning_content", "reasoning"] = "reasoning_content",
        trust: Literal["id", "text", "either"] = "id",
        strict_markers: bool = False,
        unknown_tools: Literal["forward", "content", "drop-with-report"] = "forward",
        calls_in_fences: Literal["auto", "keep", "call"] = "auto",
        parallel_tool_calls: bool = True,
        incomplete_calls: Literal["forward", "withhold"] = "forward",
        repair: bool = False,
        only_reasoning: bool = False,
        max_calls: int = 1000,
        max_argument_bytes: int = 16777216,
        max_depth: int = 512,
        max_held_bytes: int = 1048576,
        skip_special_tokens: bool = True,
        white_space: Literal["keep", "trim"] = "keep",
        stop: str | Sequence[str] = (),
        include_stop: bool = False,
        stop_in: Literal["content", "everywhere"] = "content",
        keep_message: bool = True,
        audit: bool = False,
        labels: bool = False,
        rollback_window: int = 0,
        id_seed: int = 0,
        # End.
        **unknown: NoReturn,
    ) -> None:
        if unknown:
            raise unknown_option("Parser", min(unknown), (*PARSER_OPTIONS, "tokenizer", "tools"))
        # `locals()` would cost more than the rest.
        # Written by docs/make_options.py: values.
        options = (  # of RECIPE_OPTIONS
            reasoning, tool_choice, tool_calls_in_reasoning, unmarked_calls, also, start_in, trust,
            strict_markers, unknown_tools, calls_in_fences, parallel_tool_calls, incomplete_calls, repair,
            only_reasoning, max_calls, max_argument_bytes, max_depth, max_held_bytes, skip_special_tokens,
            white_space, stop, include_stop, stop_in, keep_message, audit, labels, rollback_window, id_seed,
        )  # fmt: skip
        # End.
        begin_stream(self, format, tools, tokenizer, prompt, reasoning_field, options)

    def _repr_html_(self) -> str:
        from unspool.core.stream.message_html import message_html, state_html  # only notebooks need it
        from unspool.streams.tracing.held import why_held

        held, reason = self.held
        state = state_html(self.region, held, why_held(reason, self.held_markers))
        return message_html(self.message, state, self._format)

    def finish(self, reason: str = "stop") -> Message:
        """End the stream; return the whole message, with the last deltas in `Message.deltas`.

        If a chunk's finish reason has already ended the stream, the message has no deltas.

        Args:
            reason: Why generation ended: "stop", "length", "error" or "cancelled".
        """
        deltas: list[Delta] = []
        if not self.is_finished:
            deltas = self.parse_chunk(None, None, reason)
        return self._whole(deltas)

    def snapshot(self, *, key: bytes = b"") -> bytes:
        """Serialize the stream's state for `restore` in this or another process.

        Args:
            key: A secret of 16 to 64 bytes. `restore` then rejects snapshots that were made without it.

        Raises:
            StreamError: Deltas are still waiting for the channel.
            ArgumentError: The stream has a `rollback_window`.
        """
        return seal("TokenStreamer", self._state(), key)

    @classmethod
    def restore(cls, snapshot: bytes, *args: Any, key: bytes = b"", **options: Any) -> Self:
        """Create a stream that continues from a snapshot's state.

        Args:
            snapshot: The result of `snapshot`. Without a key, use only snapshots from a trusted source.
            args, options: The same arguments as for the original stream. The prompt, `choice`, and the
                channel may differ.
            key: The key that was passed to `snapshot`.

        Raises:
            ArgumentError: The bytes are not a snapshot, are damaged, were made with another vocabulary,
                format, list of tools or options, or the key differs.
        """
        state = unseal("TokenStreamer", snapshot, key)
        stream = cls(*args, **options)
        stream._restore_state(state)
        return stream

    def _whole(self, deltas: list[Delta]) -> Message:
        message = self._message(deltas, self._reasoning_field)
        if self._tag_formats and not message.reasoning and message.content and not self._has_prompt:
            warn_of_stray_tag(message.content, *self._tag_formats)
        if self._offered and message.content and not message.tool_calls:
            object.__setattr__(message, "hint", find_format_of_calls(message.content, *self._offered))
        return message

    @property
    def message(self) -> Message:
        """The message so far."""
        return self._message([], self._reasoning_field)

    def parse(self, output: str | bytes | Sequence[int], finish_reason: str = "stop") -> Message:
        """Parse a whole output, text or token ids: one chunk and the end."""
        if isinstance(output, (str, bytes)):
            deltas = self.parse_chunk(output, None, finish_reason)
        else:
            deltas = self.parse_chunk(None, output, finish_reason)
        return self._whole(deltas)


class ChannelParser(Parser):
    """A `Parser` that sends its deltas to a channel. For token ids, use `TokenStreamer`.

    Args:
        format, tools, options: See `Parser`.
        channel, choice, closes_channel: See `TokenStreamer`.
    """

    def __init__(
        self,
        format: str | FormatFile | Format,
        tools: Iterable[Any] | ToolSchemas | None = None,
        *,
        channel: DeltaChannel | None,
        choice: int = 0,
        closes_channel: bool = True,
        **options: Unpack[ParserOptions],
    ) -> None:
        all_options = with_defaults(options)
        begin_stream(
            self, format, tools, all_options["tokenizer"], all_options["prompt"],
            all_options["reasoning_field"], recipe_options(all_options),
            channel=channel, choice=choice, closes_channel=closes_channel,
        )  # fmt: skip


def begin_stream(
    stream: Parser,
    format: str | FormatFile | Format,
    tools: Iterable[Any] | ToolSchemas | None,
    tokenizer: Any,
    prompt: str | Sequence[int] | None,
    reasoning_field: str,
    options: tuple[Any, ...],
    **delivery: Any,
) -> None:
    """Run the native constructor.

    Args:
        options: The values of `RECIPE_OPTIONS`.
        delivery: The native class's arguments for the destination of the deltas.
    """
    schemas = compile_tools(tools)
    recipe = choose_recipe(format, schemas, tokenizer, options)
    NativeTokenStreamer.__init__(stream, recipe.native, reasoning_field, schemas, prompt, **delivery)
    stream._reasoning_field = reasoning_field
    stream._tag_formats = recipe.tag_formats
    stream._offered = (recipe.offers, schemas) if schemas and recipe.offers else None


def parse(
    output: str | bytes | Sequence[int],
    format: str | FormatFile | Format,
    tools: Iterable[Any] | ToolSchemas | None = None,
    *,
    finish_reason: str = "stop",
    **options: Unpack[ParserOptions],
) -> Message:
    """Parse a whole output with a new `Parser`; `options` are those of `Parser`."""
    try:
        parser = Parser(format, tools, **options)
    except UnknownFormatError:
        if isinstance(output, str) and is_known(output):
            raise ArgumentError(
                f"the arguments are swapped: {shown(output)} is a format; call parse(output, format)"
            ) from None
        raise
    return parser.parse(output, finish_reason)

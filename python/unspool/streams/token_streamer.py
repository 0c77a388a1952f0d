"""Token ids in, deltas out; also a `streamer=` for transformers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from unspool._core import Delta, DeltaChannel, Format, ToolSchemas
from unspool.core.format.other_families import Also
from unspool.core.stream.stream_options import DELIVERY_OPTIONS, PARSER_OPTIONS
from unspool.core.wrong_call import unknown_option
from unspool.errors import ArgumentError
from unspool.formats.format_file import FormatFile
from unspool.streams.parser import Parser, begin_stream

if TYPE_CHECKING:
    from unspool.core.stream.message import Message

__all__ = ["TokenStreamer"]


_FIRST_PUT = {None: "row_is_prompt", True: "prompt", False: "output"}


class TokenStreamer(Parser):
    """One answer's stream of token ids.

    `put(ids)` accepts an int, a list, a NumPy array or a one-row tensor, and returns the deltas that became
    certain; `end()` returns the last ones. With `channel`, deltas go into the channel instead, the last one
    together with the end. A streamer reads one answer: batches with several rows are rejected.

    If Ctrl-C interrupts the wait for a full channel, the ids have been consumed: do not put them again. The
    next call sends the pending deltas first.

    It is also a `streamer=` for transformers' `model.generate`: the first `put` is then the prompt, a
    two-dimensional tensor, which is read and not emitted.

    Args:
        tokenizer: A tokenizer or `Vocabulary`. format: The name of a format, a `FormatFile`, or a compiled
            `Format`; see `Parser`. tools, reasoning, tool_choice, prompt, …: See `Parser`.
        channel: The channel that receives the deltas; `end` closes it.
        choice: The index of this answer among the request's answers, from 0 (`Delta.choice`). With an
            `id_seed`, each answer has its own call ids, except in formats that number calls by the tool's
            name ("functions.f:0"), as the model's template requires.
        closes_channel: False: `end` leaves the channel open, so that several streamers, one for each choice,
            can share it. The caller closes it after the last one.
        skip_prompt: Whether the first `put` is the prompt. None: yes if it is a two-dimensional tensor; a
            list of ids is never a prompt.

    Raises:
        UnknownFormatError, ArgumentError, VocabularyError: as of `Parser`.
    """

    def __init__(
        self,
        tokenizer: Any,
        format: str | FormatFile | Format,
        tools: Iterable[Any] | ToolSchemas | None = None,
        *,
        # Written by docs/make_options.py: keywords.
        reasoning: str | bool | None = None,
        prompt: str | Sequence[int] | None = None,
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
        channel: DeltaChannel | None = None,
        choice: int = 0,
        closes_channel: bool = True,
        skip_prompt: bool | None = None,
        # End.
        **unknown: NoReturn,
    ) -> None:
        if unknown:
            raise unknown_option("TokenStreamer", min(unknown), (*PARSER_OPTIONS, *DELIVERY_OPTIONS, "tools"))
        if tokenizer is None:
            raise ArgumentError("tokenizer is None; a streamer of token ids needs one")
        # Written by docs/make_options.py: values.
        options = (  # of RECIPE_OPTIONS
            reasoning, tool_choice, tool_calls_in_reasoning, unmarked_calls, also, start_in, trust,
            strict_markers, unknown_tools, calls_in_fences, parallel_tool_calls, incomplete_calls, repair,
            False, max_calls, max_argument_bytes, max_depth, max_held_bytes, skip_special_tokens, white_space,
            stop, include_stop, stop_in, keep_message, audit, labels, rollback_window, id_seed,
        )  # fmt: skip
        # End.
        begin_stream(
            self, format, tools, tokenizer, prompt, reasoning_field, options,
            channel=channel, choice=choice, closes_channel=closes_channel, first_put=_FIRST_PUT[skip_prompt],
        )  # fmt: skip

    def end(self, finish_reason: str = "stop") -> list[Delta]:
        """End the stream; get the last deltas. Its `message` is whole then."""
        return self.parse_chunk(None, None, finish_reason)

    def finish(self, reason: str = "stop") -> Message:
        """`end`, and the whole message with the last deltas."""
        deltas = [] if self.is_finished else self.end(reason)
        return self._whole(deltas)

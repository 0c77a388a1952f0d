"""A streamer of OpenVINO GenAI that gives deltas."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

from openvino_genai import StreamerBase, StreamingStatus

from unspool._core import Delta, DeltaChannel, Format, ToolSchemas
from unspool.errors import ChannelCancelledError
from unspool.format_files import FormatFile
from unspool.integrations.openvino.model import choose_model_format, finish_reason_of
from unspool.message import Message
from unspool.token_streamer import TokenStreamer
from unspool.vocabulary_sources import from_tokenizer

__all__ = ["ChannelStreamer", "DeltaStreamer"]


class ChannelStreamer(StreamerBase):  # type: ignore[misc]
    """Puts the ids of a running `generate` into a `TokenStreamer` that has a channel.

    GenAI calls it in a thread of its own, where an exception, and a result that is no status, ends the process.
    """

    def __init__(self, streamer: TokenStreamer, channel: DeltaChannel) -> None:
        super().__init__()
        self._streamer = streamer
        self._channel = channel

    def write(self, tokens: int | list[int]) -> StreamingStatus:
        """Called by `generate`, with the ids of one step."""
        try:
            self._streamer.put(tokens)
            if self._streamer.is_stopped:
                return StreamingStatus.STOP
            return StreamingStatus.CANCEL if self._channel.is_cancelled else StreamingStatus.RUNNING
        except BaseException as error:
            self._fail(error)
            return StreamingStatus.CANCEL

    def end(self) -> None:
        """Called by `generate`, twice by default; it does not say why it ended."""

    def finish(self, result: Any = "stop") -> None:
        """End the stream.

        Args:
            result: What `generate` returned, or "stop", "length", "error" or "cancelled".
        """
        with contextlib.suppress(ChannelCancelledError):
            if not self._streamer.is_finished and not self._channel.is_finished:
                self._streamer.end(finish_reason_of(result))

    def _fail(self, error: BaseException) -> None:
        with contextlib.suppress(BaseException):
            if not isinstance(error, ChannelCancelledError):
                self._channel.fail(error)


class DeltaStreamer(ChannelStreamer):
    """As GenAI's `TextStreamer`, but you iterate it, and it gives deltas.

    Pass it as the streamer to `generate` in a thread, and iterate it in another, with `for` or `async for`; or
    iterate it after `generate`. Leaving the loop stops the model. `message` is whole at the end. A streamer is for
    one answer.

    Args:
        tokenizer: Of the pipeline; also a Hugging Face tokenizer or a `Vocabulary`. Call `get_tokenizer()` once: it
            returns another object each time, and each is compiled anew.
        format, tools: As of `TokenStreamer`.
        ends_with_generate: GenAI does not say why it ended, so the finish reason is "stop" or
            "tool_calls". If False, the stream ends with `finish(result)`, which knows "length" too.
        maxsize: How many deltas may wait before the model does; 0: any number.
        timeout: Seconds to wait for the next delta, then ChannelTimeoutError; None: no limit. If `generate` raises,
            the streamer does not learn of it: catch the error and call `fail(error)`, or set a timeout.
        options: As of `TokenStreamer`. Pass `trust="either"` with structured output, which may spell markers in
            ordinary tokens.
    """

    def __init__(
        self,
        tokenizer: Any,
        format: str | FormatFile | Format = "auto",
        tools: Iterable[Any] | ToolSchemas | None = None,
        *,
        reasoning: str | bool | None = None,
        ends_with_generate: bool = True,
        maxsize: int = 0,
        timeout: float | None = None,
        **options: Any,
    ) -> None:
        format, reasoning = choose_model_format(format, tokenizer, reasoning)
        channel = DeltaChannel(maxsize)
        vocabulary = from_tokenizer(tokenizer)
        super().__init__(
            TokenStreamer(vocabulary, format, tools, reasoning=reasoning, channel=channel, **options), channel
        )
        self._ends_with_generate = ends_with_generate
        self._timeout = timeout

    def end(self) -> None:
        """Called by `generate`, twice by default."""
        try:
            if self._ends_with_generate:
                self.finish()
        except BaseException as error:
            self._fail(error)

    def __iter__(self) -> Iterator[Delta]:
        try:
            while (delta := self._channel.get(self._timeout)) is not None:
                yield delta
        except ChannelCancelledError:
            pass
        finally:
            self.cancel()

    async def __aiter__(self) -> AsyncIterator[Delta]:
        try:
            while (delta := await self._channel.aget(self._timeout)) is not None:
                yield delta
        except ChannelCancelledError:
            pass
        finally:
            self.cancel()

    @property
    def message(self) -> Message:
        """The message; whole once the stream has ended."""
        return self._streamer.message

    def cancel(self) -> None:
        """Stop the model, from any thread; the iteration ends."""
        if not self._channel.is_finished:
            self._channel.cancel()

    def fail(self, error: BaseException) -> None:
        """The model has failed: the loop gets this error, after what came before it."""
        self._channel.fail(error)

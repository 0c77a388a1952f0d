"""An OpenVINO GenAI streamer that produces deltas."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

from openvino_genai import StreamerBase, StreamingStatus

from unspool._core import Delta, DeltaChannel, Format, ToolSchemas
from unspool.core.stream.message import Message
from unspool.core.vocabulary.vocabulary_sources import from_tokenizer
from unspool.errors import ChannelCancelledError
from unspool.formats.format_file import FormatFile
from unspool.integrations.openvino.model import choose_model_format, finish_reason_of
from unspool.streams.token_streamer import TokenStreamer

__all__ = ["ChannelStreamer", "DeltaStreamer"]


class ChannelStreamer(StreamerBase):  # type: ignore[misc]
    """Puts the ids of a running `generate` into a `TokenStreamer` with a channel.

    GenAI calls it in its own thread, where an exception, or a result that is not a status, would end the process.
    """

    def __init__(self, streamer: TokenStreamer, channel: DeltaChannel) -> None:
        super().__init__()
        self._streamer = streamer
        self._channel = channel

    def write(self, tokens: int | list[int]) -> StreamingStatus:
        """Receive the ids of one step. `generate` calls this."""
        try:
            self._streamer.put(tokens)
            if self._streamer.is_stopped:
                return StreamingStatus.STOP
            return StreamingStatus.CANCEL if self._channel.is_cancelled else StreamingStatus.RUNNING
        except BaseException as error:
            self._fail(error)
            return StreamingStatus.CANCEL

    def end(self) -> None:
        """Receive the end. `generate` calls this, by default twice, and does not report why it ended."""

    def finish(self, result: Any = "stop") -> None:
        """End the stream.

        Args:
            result: The result of `generate`, or "stop", "length", "error" or "cancelled".
        """
        with contextlib.suppress(ChannelCancelledError):
            if not self._streamer.is_finished and not self._channel.is_finished:
                self._streamer.end(finish_reason_of(result))

    def _fail(self, error: BaseException) -> None:
        with contextlib.suppress(BaseException):
            if not isinstance(error, ChannelCancelledError):
                self._channel.fail(error)


class DeltaStreamer(ChannelStreamer):
    """Like GenAI's `TextStreamer`, but you iterate it, and it yields deltas.

    Pass it as the streamer to `generate` in a thread, and iterate it in another one with `for` or `async
    for`; or iterate it after `generate`. Leaving the loop stops the model. At the end, `message` is complete.
    A streamer reads one answer.

    Args:
        tokenizer: The pipeline's tokenizer, a Hugging Face tokenizer or a `Vocabulary`. Call
            `get_tokenizer()` only once: it returns a new object each time, and each one is compiled again.
        format, tools: As for `TokenStreamer`.
        ends_with_generate: GenAI does not report why it ended, so the finish reason is "stop" or
            "tool_calls". If False, the stream ends with `finish(result)`, which can also report "length".
        maxsize: Maximum number of unread deltas before the model waits; 0: no limit.
        timeout: Seconds to wait for the next delta before ChannelTimeoutError; None: no limit. The streamer
            does not notice if `generate` raises: catch the error and call `fail(error)`, or set a timeout.
        options: As for `TokenStreamer`. Pass `trust="either"` with structured output, which may spell markers
            in ordinary tokens.
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
        """Receive the end. `generate` calls this, by default twice."""
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
        """The message; complete when the stream has ended."""
        return self._streamer.message

    def cancel(self) -> None:
        """Stop the model, from any thread; the iteration then ends."""
        if not self._channel.is_finished:
            self._channel.cancel()

    def fail(self, error: BaseException) -> None:
        """Report that the model has failed: the iteration raises this error after the deltas so far."""
        self._channel.fail(error)

"""The requests of a `ContinuousBatchingPipeline`, each as a stream of deltas."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from openvino import Tensor
from openvino_genai import (
    ContinuousBatchingPipeline,
    GenerationConfig,
    GenerationFinishReason,
    GenerationStatus,
    Tokenizer,
)

from unspool._core import DeltaChannel, Format
from unspool.errors import ArgumentError, ChannelCancelledError, StreamError
from unspool.formats.format_file import FormatFile
from unspool.generation.worker import GenerationWorker, check_timeout
from unspool.integrations.openvino.model import Model, Tools, finish_reason_of, tools_of
from unspool.streams.channel_stream import ChannelStream
from unspool.streams.token_streamer import TokenStreamer

__all__ = ["BatchedStream", "ContinuousBatching"]

# Two requests with the same id break the pipeline, so these ids begin at a number that hosts rarely use.
_request_ids = itertools.count(1 << 48)


@dataclass(eq=False)
class _Request:
    """One request in the batch."""

    handle: Any  # a GenAI GenerationHandle
    streamer: TokenStreamer
    channel: DeltaChannel


class BatchedStream(ChannelStream):
    """One request of a `ContinuousBatching`: iterate its deltas with `for` or `async for`.

    The request leaves the batch at the end of its `with` block, on `cancel()`, and on garbage collection.
    """


class ContinuousBatching:
    """The requests of a `ContinuousBatchingPipeline`, each as a stream of deltas.

    One thread steps the pipeline while there are requests. Create one instance per pipeline, and do not call
    `step` yourself.

    Args:
        pipe: The GenAI pipeline.
        tokenizer: A GenAI tokenizer; None: the pipeline's.
        vocabulary, format, reasoning, options: As for `pipeline`.

    Raises:
        ArgumentError: `pipe` is not a ContinuousBatchingPipeline, or its format cannot be detected.
        VocabularyError: The tokenizer cannot be compiled.
    """

    def __init__(
        self,
        pipe: ContinuousBatchingPipeline,
        *,
        tokenizer: Tokenizer | None = None,
        vocabulary: Any = None,
        format: str | FormatFile | Format = "auto",
        reasoning: str | bool | None = None,
        **options: Any,
    ) -> None:
        if not isinstance(pipe, ContinuousBatchingPipeline):
            raise ArgumentError(f"pipe is a {type(pipe).__name__}; pass a ContinuousBatchingPipeline")
        self.pipe = pipe
        tokenizer = pipe.get_tokenizer() if tokenizer is None else tokenizer
        self.model = Model(tokenizer, vocabulary, format, reasoning, None, options)
        self._requests: list[_Request] = []
        self._lock = threading.Lock()
        self._worker: GenerationWorker | None = None

    def stream(
        self,
        prompt: Any,
        *,
        tools: Tools = None,
        config: GenerationConfig | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        **options: Any,
    ) -> BatchedStream:
        """Add a request to the batch and return a stream of its deltas.

        The arguments are those of `TextGeneration.__call__`.

        Raises:
            ArgumentError: The prompt is empty or missing, or an option is unknown or cannot be streamed.
            ContextLengthError: The tokenizer has truncated the prompt.
        """
        check_timeout(timeout)
        tools = tools_of(prompt, tools)
        config, parsing = self.model.configure(self.pipe.get_config(), config, options)
        ids = self.model.encode(prompt, tools, chat_template_kwargs, config.apply_chat_template)
        channel = DeltaChannel()
        streamer = self.model.open(ids, tools, config, channel, parsing)
        with self._lock:
            handle = self.pipe.add_request(
                next(_request_ids), Tensor(np.array([ids], dtype=np.int64)), config
            )
            self._requests.append(_Request(handle, streamer, channel))
            if self._worker is None:
                self._worker = GenerationWorker(DeltaChannel(), self._run, self._cancel_all)
                self._worker.start()
        return BatchedStream(channel, streamer, timeout=timeout)

    def _run(self) -> None:
        """Step the pipeline until it has no requests; one more step frees the memory of a cancelled request."""
        while True:
            with self._lock:
                self._requests = [request for request in self._requests if not _has_left(request)]
                requests = list(self._requests)
            if not requests and not self.pipe.has_non_finished_requests() and self._stop_if_idle():
                return
            try:
                self.pipe.step()
                is_idle = not self.pipe.has_non_finished_requests()
            except Exception as error:  # the pipeline's error affects all requests
                self._end(requests, error)
                if requests or not self._stop_if_idle():
                    continue
                return
            self._end([request for request in requests if _read(request)])
            if is_idle:
                self._end(requests, StreamError("the pipeline has ended this request without a reason"))

    def _stop_if_idle(self) -> bool:
        """End the thread, unless a request has arrived."""
        with self._lock:
            if not self._requests:
                self._worker = None
            return not self._requests

    def _end(self, requests: list[_Request], error: Exception | None = None) -> None:
        with self._lock:
            ended = [request for request in self._requests if request in requests]
            self._requests = [request for request in self._requests if request not in requests]
        if error is not None:
            for request in ended:
                request.handle.cancel()
                request.channel.fail(error)

    def _cancel_all(self) -> None:
        for request in list(self._requests):
            request.channel.cancel()


def _has_left(request: _Request) -> bool:
    """Whether the request's consumer has left; the request is then removed from the batch."""
    if request.channel.is_cancelled:
        request.handle.cancel()
        return True
    return False


def _read(request: _Request) -> bool:
    """Put the request's new ids into its stream; return whether it has ended."""
    try:
        while request.handle.can_read():
            for output in request.handle.read().values():
                request.streamer.put(output.generated_ids)
                if request.streamer.is_stopped:
                    request.handle.stop()
                    request.streamer.end("stop")
                    return True
                if output.finish_reason != GenerationFinishReason.NONE:
                    request.streamer.end(finish_reason_of(output.finish_reason))
                    return True
        if request.handle.get_status() == GenerationStatus.IGNORED:
            raise StreamError("the pipeline has dropped this request: its KV cache is full; raise cache_size")
    except ChannelCancelledError:
        request.handle.cancel()
        return True
    except Exception as error:  # this request's error; the others continue
        request.handle.cancel()
        request.channel.fail(error)
        return True
    return False

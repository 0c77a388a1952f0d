"""transformers: a pipeline and a streamer that produce deltas, and continuous batching as streams of
deltas."""

from __future__ import annotations

import contextlib
import operator
import os
import threading
import uuid
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

from unspool.core.needs import needs

with needs("transformers"):
    import transformers

from unspool._core import Delta, DeltaChannel, Format, ToolSchemas
from unspool.core.stream.message import Message
from unspool.core.vocabulary.vocabulary_sources import from_tokenizer
from unspool.errors import ArgumentError, ChannelCancelledError, StreamError
from unspool.formats.choose_format import choose_format
from unspool.formats.format_file import FormatFile
from unspool.generation.delta_stream import DeltaStream
from unspool.generation.generate import with_limit
from unspool.generation.prompts.chat_template import render_messages
from unspool.generation.prompts.prompt import read_prompt
from unspool.generation.stream_generator import StreamGenerator
from unspool.streams.channel_stream import ChannelStream
from unspool.streams.token_streamer import TokenStreamer

__all__ = ["BatchedStream", "ContinuousBatching", "DeltaIteratorStreamer", "TextGeneration", "pipeline"]

Tools = Iterable[Any] | ToolSchemas | None


class DeltaIteratorStreamer(TokenStreamer):
    """Like transformers' `TextIteratorStreamer`, but yields deltas.

    Pass it as `streamer=` to `model.generate` in a thread, and iterate it with `for` or `async for`. At the
    end, `message` is complete. `generate` does not report why it ended, so the finish reason is "stop" or
    "tool_calls"; use `pipeline` if you need "length".

    Args:
        tokenizer: The model's tokenizer.
        format, tools: As for `TokenStreamer`.
        timeout: Seconds to wait for the next delta before ChannelTimeoutError; None: no limit. The streamer
            does not notice if `generate` raises: catch the error and call `fail(error)`, or set a timeout.
        options: As for `TokenStreamer`.
    """

    def __init__(
        self,
        tokenizer: Any,
        format: str | FormatFile | Format = "auto",
        tools: Tools = None,
        *,
        timeout: float | None = None,
        **options: Any,
    ) -> None:
        self._deltas = DeltaChannel()
        self._timeout = timeout
        super().__init__(tokenizer, format, tools, channel=self._deltas, **options)

    def __iter__(self) -> Iterator[Delta]:
        while (delta := self._deltas.get(self._timeout)) is not None:
            yield delta

    async def __aiter__(self) -> AsyncIterator[Delta]:
        while (delta := await self._deltas.aget(self._timeout)) is not None:
            yield delta

    def fail(self, error: BaseException) -> None:
        """Report that the model has failed: the iteration raises this error after the deltas so far."""
        self._deltas.fail(error)


class TextGeneration:
    """A model with the interface of transformers' text-generation pipeline; `pipeline` creates it.

    Attributes:
        model, tokenizer: The transformers objects.
        generator: The `StreamGenerator` that runs them, with more methods.
    """

    def __init__(self, model: Any, tokenizer: Any, **options: Any) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.generator = StreamGenerator(model, tokenizer, **options)

    @overload
    def __call__(
        self, prompt: Any, *, tools: Tools = None, stream: Literal[True], **options: Any
    ) -> DeltaStream: ...
    @overload
    def __call__(
        self, prompt: Any, *, tools: Tools = None, stream: Literal[False] = False, **options: Any
    ) -> Any: ...
    def __call__(self, prompt: Any, *, tools: Tools = None, stream: bool = False, **options: Any) -> Any:
        """Answer a prompt.

        Args:
            prompt: Chat messages, text or token ids, as for `unspool.generate`. A list of texts or of chats
                consists of several prompts, which are answered one after the other.
            tools: The request's tools.
            stream: Whether to return deltas as they arrive.
            options: As for `unspool.generate`: `max_new_tokens`, `do_sample`, `timeout`, …. Also accepts
                `return_full_text=False`, the only supported value.

        Returns:
            A `Message`, or a list of them if several answers are requested (`num_return_sequences`, `n`). For
            several prompts, a list of these. With `stream`, a `DeltaStream`.

        Raises:
            ArgumentError: As in `unspool.generate`; also if `stream` is set for several prompts, or if
                `return_full_text` is True.
        """
        if options.pop("return_full_text", None):
            raise ArgumentError(
                "return_full_text is set; a message is the answer alone: put the prompt before it"
            )
        is_several = isinstance(prompt, (list, tuple)) and bool(prompt) and _is_prompt(prompt[0])
        if stream:
            if is_several:
                raise ArgumentError("a stream is of one prompt; call once for each")
            return self._stream(prompt, tools, options)
        if is_several:
            known = list(tools) if tools is not None and not isinstance(tools, ToolSchemas) else tools
            return [self._whole(single, known, options) for single in prompt]
        return self._whole(prompt, tools, options)

    def _stream(self, prompt: Any, tools: Tools, options: Mapping[str, Any]) -> DeltaStream:
        return self.generator.stream(prompt, tools=tools, **with_limit(self.model, options))

    def _whole(self, prompt: Any, tools: Tools, options: Mapping[str, Any]) -> Message | list[Message]:
        with self._stream(prompt, tools, options) as deltas:
            for _ in deltas:
                pass
            messages = [choice.message for choice in deltas.result.choices]
            return deltas.message if len(messages) == 1 else messages


def _is_prompt(item: Any) -> bool:
    """Whether an item is a prompt: a text or a list of messages, but not a message or a token id."""
    return isinstance(item, (str, list, tuple))


def pipeline(
    task: str = "text-generation",
    model: Any = None,
    tokenizer: Any = None,
    *,
    device: Any = None,
    model_kwargs: Mapping[str, Any] | None = None,
    **options: Any,
) -> TextGeneration:
    """Create a pipeline like `transformers.pipeline` for text generation that returns deltas or a `Message`.

    Args:
        task: "text-generation".
        model: A name, a folder, a model, or a transformers pipeline, whose model and tokenizer are used.
        tokenizer: A name, a folder or a tokenizer; None: the model's.
        device: The target device, such as "cuda"; -1: the CPU; None: unchanged.
        model_kwargs: Further arguments of `AutoModelForCausalLM.from_pretrained`.
        options: `dtype`, `torch_dtype`, `device_map`, `revision`, `token` and `trust_remote_code` apply to
            loading; all others are those of `StreamGenerator`: `format`, `reasoning`, `backend`, `processor`,
            ….

    Raises:
        ArgumentError: The task is not "text-generation", or there is no model or no tokenizer.
        OSError: Raised by transformers if the model is not found.
    """
    if task != "text-generation":
        raise ArgumentError(f"task is '{task}'; only 'text-generation' writes text that is parsed here")
    if model is None:
        raise ArgumentError("model is None; pass a name, a folder, a model or a pipeline of transformers")
    if isinstance(model, transformers.Pipeline):
        tokenizer = model.tokenizer if tokenizer is None else tokenizer
        model = model.model
    source = {name: options.pop(name) for name in _SOURCE if name in options}
    loading = {name: options.pop(name) for name in _PLACING if name in options} | dict(model_kwargs or {})
    is_named = isinstance(model, (str, os.PathLike))
    if tokenizer is None and not is_named:
        raise ArgumentError("tokenizer is None; pass the model's")
    if tokenizer is None or isinstance(tokenizer, (str, os.PathLike)):
        tokenizer = transformers.AutoTokenizer.from_pretrained(tokenizer or model, **source)
    if is_named:
        model = transformers.AutoModelForCausalLM.from_pretrained(model, **{**source, **loading})
    elif loading:
        raise ArgumentError(f"leave out {', '.join(loading)}: this model is loaded already")
    if device is not None:
        model = model.to("cpu" if device == -1 else device)
    return TextGeneration(model, tokenizer, **options)


_SOURCE = ("revision", "token", "trust_remote_code")  # of the files' source; also for the tokenizer
_PLACING = ("dtype", "torch_dtype", "device_map")


@dataclass
class _Request:
    """One request in the batch."""

    streamer: TokenStreamer
    channel: DeltaChannel
    limit: int | None
    ends: frozenset[int]
    seen_count: int = 0  # the number of its token ids that were read


class BatchedStream(ChannelStream):
    """One request of a `ContinuousBatching`: iterate its deltas with `for` or `async for`.

    The request leaves the batch at the end of its `with` block, on `cancel()`, and on garbage collection.

    Attributes:
        request_id: The request's id in the manager.
    """

    def __init__(self, batching: ContinuousBatching, request_id: str, request: _Request) -> None:
        self.request_id = request_id
        self._batching = batching
        super().__init__(request.channel, request.streamer)

    def cancel(self) -> None:
        """Remove the request from the batch, from any thread; the iteration ends."""
        self._batching._cancel(self.request_id)


class ContinuousBatching:
    """The requests of a transformers 5 `ContinuousBatchingManager`, each as a stream of deltas.

    One thread reads all results of the manager, so results of requests that were added to the manager directly are
    lost.

    Args:
        manager: The result of `model.init_continuous_batching(...)`, already started; its owner stops it.
        tokenizer: The model's tokenizer.
        format, reasoning: As for `Parser`.
        parser_options: Further options of `TokenStreamer` for every stream.

    Raises:
        ArgumentError: The manager cannot stream results; it is not from transformers 5.
    """

    def __init__(
        self,
        manager: Any,
        tokenizer: Any,
        *,
        format: str | FormatFile | Format = "auto",
        reasoning: str | bool | None = None,
        **parser_options: Any,
    ) -> None:
        if not all(hasattr(manager, name) for name in ("add_request", "get_result", "cancel_request")):
            raise ArgumentError("manager is none of transformers 5; pass model.init_continuous_batching(...)")
        self.manager = manager
        self.tokenizer = tokenizer
        self._format, self._reasoning = choose_format(format, tokenizer, reasoning)
        self._parser_options = parser_options
        self._requests: dict[str, _Request] = {}
        self._lock = threading.Lock()
        self._reader: threading.Thread | None = None

    def stream(
        self,
        prompt: str | Sequence[Any],
        *,
        tools: Tools = None,
        tool_choice: str | Mapping[str, Any] | None = "auto",
        max_new_tokens: int | None = None,
        stop: str | Sequence[str] = (),
        chat_template_kwargs: Mapping[str, Any] | None = None,
        **request_options: Any,
    ) -> BatchedStream:
        """Add a request to the batch and return a stream of its deltas.

        Args:
            prompt: As for `unspool.generate`: chat messages, text, or token ids (a list, or a one-row
                tensor).
            tools, tool_choice, stop: As for `TokenStreamer`.
            max_new_tokens: None: the value in the manager's generation config.
            chat_template_kwargs: Passed to `apply_chat_template`.
            request_options: Passed to the manager's `add_request`.

        Raises:
            ArgumentError: The prompt is empty or missing, or an option has an invalid value.
            StreamError: The manager is not running, or accepts no requests.
        """
        if max_new_tokens is not None and operator.index(max_new_tokens) < 1:
            raise ArgumentError(f"max_new_tokens is {max_new_tokens}; pass 1 or more")
        reserved = {"request_id", "streaming"}.intersection(request_options)
        if reserved:
            raise ArgumentError(
                f"{' and '.join(sorted(reserved))} cannot be passed; every request streams, by an id of ours"
            )
        known = list(tools) if tools is not None and not isinstance(tools, ToolSchemas) else tools
        ids = self._encode(prompt, known, chat_template_kwargs)
        channel = DeltaChannel()
        streamer = TokenStreamer(
            from_tokenizer(self.tokenizer),
            self._format,
            known,
            reasoning=self._reasoning,
            tool_choice=tool_choice,
            stop=stop,
            prompt=ids,
            channel=channel,
            **self._parser_options,
        )
        if not self.manager.is_running():
            raise StreamError("the manager is not running; call its start(), or enter its context")
        config = self.manager.generation_config
        limit = config.max_new_tokens if max_new_tokens is None else max_new_tokens
        eos = request_options.get("eos_token_id")
        eos = config.eos_token_id if eos is None else eos
        ends = frozenset(eos if isinstance(eos, (list, tuple)) else [eos])
        request_id = f"unspool-{uuid.uuid4().hex}"
        request = _Request(streamer, channel, limit, ends)
        with self._lock:  # its first result may arrive before `add_request` returns
            self._requests[request_id] = request
        added = None
        try:
            added = self.manager.add_request(
                ids, request_id=request_id, max_new_tokens=max_new_tokens, streaming=True, **request_options
            )
        finally:
            if added is None:
                self._end(request_id)
        if added is None:
            raise StreamError("the manager takes no requests: it is stopping, or another rank drives it")
        self._read()
        return BatchedStream(self, request_id, request)

    def _encode(self, prompt: Any, tools: Any, template_kwargs: Mapping[str, Any] | None) -> list[int]:
        parsed = read_prompt(prompt)
        if parsed.text is not None:
            ids: list[int] = self.tokenizer(parsed.text)["input_ids"]
        elif parsed.messages is not None:
            text, is_template = render_messages(
                self.tokenizer, parsed.messages, tools=tools, chat_template_kwargs=template_kwargs
            )
            ids = self.tokenizer(text, add_special_tokens=not is_template)["input_ids"]
        elif "input_ids" in parsed.inputs:
            ids = parsed.inputs["input_ids"][0].tolist()
        else:
            raise ArgumentError("the prompt is embeddings; continuous batching takes token ids")
        if not ids:
            raise ArgumentError("the prompt is empty; pass at least one token")
        return ids

    def _cancel(self, request_id: str) -> None:
        with self._lock:
            request = self._requests.pop(request_id, None)
        if request is not None:
            request.channel.cancel()
            self.manager.cancel_request(request_id)

    def _read(self) -> None:
        with self._lock:
            if self._reader is None:
                self._reader = threading.Thread(target=self._route, name="unspool-batching", daemon=True)
                self._reader.start()

    def _route(self) -> None:
        """Pass each result to its request until there are no more requests."""
        while True:
            result = self.manager.get_result(timeout=0.1)
            if result is None and not self.manager.is_running():
                self._fail_all()
            with self._lock:
                if not self._requests:
                    self._reader = None
                    return
                request = None if result is None else self._requests.get(result.request_id)
            if request is not None:
                try:
                    self._put(request, result)
                except Exception as error:  # this request's error; the others continue
                    request.channel.fail(error)
                    self._end(result.request_id)

    def _put(self, request: _Request, result: Any) -> None:
        """Read a result, which contains all ids of the request so far."""
        ids = result.generated_tokens
        with contextlib.suppress(ChannelCancelledError):  # `_cancel` has removed it
            request.streamer.put(ids[request.seen_count :])
            request.seen_count = len(ids)
            if result.error is not None:
                request.channel.fail(RuntimeError(result.error))
                self._end(result.request_id)
            elif request.streamer.is_stopped:
                request.streamer.end("stop")
                self._end(result.request_id)
                self.manager.cancel_request(result.request_id)
            elif result.is_finished():
                request.streamer.end("stop" if _has_stopped(request, ids) else "length")
                self._end(result.request_id)

    def _end(self, request_id: str) -> None:
        with self._lock:
            self._requests.pop(request_id, None)

    def _fail_all(self) -> None:
        with self._lock:
            requests, self._requests = self._requests, {}
        cause = getattr(getattr(self.manager, "background_thread_status", None), "fatal_error", None)
        for request in requests.values():
            request.channel.fail(cause or RuntimeError("the manager has stopped before the answer's end"))


def _has_stopped(request: _Request, ids: Sequence[int]) -> bool:
    return request.limit is None or len(ids) < request.limit or ids[-1] in request.ends

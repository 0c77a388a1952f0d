"""An `LLMPipeline` that accepts messages and returns deltas or a `Message`."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import Any, Literal, overload

import numpy as np
from openvino import Tensor
from openvino_genai import GenerationConfig, LLMPipeline, TokenizedInputs, Tokenizer

from unspool._core import DeltaChannel, Format
from unspool.core.stream.message import Message
from unspool.errors import ArgumentError
from unspool.formats.format_file import FormatFile
from unspool.generation.worker import GenerationWorker, check_timeout
from unspool.integrations.openvino.model import Model, Tools, tools_of
from unspool.integrations.openvino.streamer import ChannelStreamer
from unspool.streams.channel_stream import ChannelStream

__all__ = ["TextGeneration", "pipeline"]


class TextGeneration:
    """A GenAI pipeline that is called with a prompt; `pipeline` creates it.

    It generates one answer at a time; further calls wait. `ContinuousBatching` generates several at the same time.

    Attributes:
        pipe: The `LLMPipeline`.
        model: The tokenizer, vocabulary and format.
    """

    def __init__(self, pipe: LLMPipeline, model: Model) -> None:
        self.pipe = pipe
        self.model = model
        self._lock = threading.Lock()

    @overload
    def __call__(
        self, prompt: Any, *, tools: Tools = None, stream: Literal[True], **options: Any
    ) -> ChannelStream: ...
    @overload
    def __call__(
        self, prompt: Any, *, tools: Tools = None, stream: Literal[False] = False, **options: Any
    ) -> Message: ...
    def __call__(
        self,
        prompt: Any,
        *,
        tools: Tools = None,
        stream: bool = False,
        config: GenerationConfig | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        **options: Any,
    ) -> Message | ChannelStream:
        """Answer a prompt.

        Args:
            prompt: Chat messages, a `ChatHistory`, a text, or token ids. If the model has a chat template, a
                text is the user's message, as in GenAI; `apply_chat_template=False` passes it unchanged.
            tools: The request's tools. None: those of a `ChatHistory`.
            stream: Whether to return deltas as they arrive.
            config: Replaces the pipeline's config.
            chat_template_kwargs: Further variables of the chat template, such as `enable_thinking`.
            timeout: Seconds to wait for the next token before StreamTimeout; the model is then asked to stop.
            options: Fields of `GenerationConfig`, such as `max_new_tokens`, and options of `TokenStreamer`,
                such as `tool_choice` and `stop`.

        Returns:
            A `Message`; with `stream` the deltas, to be iterated with `for` or `async for`. Leaving the loop
            stops the model.

        Raises:
            ArgumentError: The prompt is empty or missing, or an option is unknown or cannot be streamed.
            ContextLengthError: The tokenizer has truncated the prompt.
        """
        check_timeout(timeout)
        tools = tools_of(prompt, tools)
        config, parsing = self.model.configure(self.pipe.get_generation_config(), config, options)
        ids = self.model.encode(prompt, tools, chat_template_kwargs, config.apply_chat_template)
        channel = DeltaChannel()
        streamer = self.model.open(ids, tools, config, channel, parsing)
        receiver = ChannelStreamer(streamer, channel)
        pipe, lock = self.pipe, self._lock

        def job() -> None:
            while not lock.acquire(timeout=0.02):
                if channel.is_cancelled:
                    return
            try:
                if not channel.is_cancelled:
                    receiver.finish(pipe.generate(_inputs(ids), config, receiver))
            finally:
                lock.release()

        worker = GenerationWorker(channel, job)
        deltas = ChannelStream(channel, streamer, worker.raise_error, timeout)
        worker.start()
        if stream:
            return deltas
        with deltas:
            for _ in deltas:
                pass
            return deltas.message


def pipeline(
    model: Any,
    device: str = "CPU",
    *,
    tokenizer: Tokenizer | None = None,
    vocabulary: Any = None,
    format: str | FormatFile | Format = "auto",
    reasoning: str | bool | None = None,
    properties: Mapping[str, Any] | None = None,
    **options: Any,
) -> TextGeneration:
    """Create a GenAI `LLMPipeline` that returns deltas or a `Message`.

    Args:
        model: An OpenVINO folder, a GGUF file, or an `LLMPipeline`.
        device: The device for a model that is loaded here.
        tokenizer: A GenAI tokenizer; None: the pipeline's.
        vocabulary: A `Vocabulary`, for example read from a `tokenizer.json`, or another tokenizer of the
            model; None: GenAI's tokenizer.
        format, reasoning: As for `Parser`. "auto" uses the chat template, the tokens and the model's name.
        properties: Further properties of `LLMPipeline`, such as `{"ATTENTION_BACKEND": "SDPA"}`.
        options: Further options of `TokenStreamer` for all answers.

    Raises:
        ArgumentError: The model has another type, or its format cannot be detected.
        VocabularyError: The tokenizer cannot be compiled.
    """
    name = None
    if isinstance(model, (str, os.PathLike)):
        name = os.fspath(model)
        arguments = [name, device] if tokenizer is None else [name, tokenizer, device]
        model = LLMPipeline(*arguments, **dict(properties or {}))
    elif not isinstance(model, LLMPipeline):
        raise ArgumentError(
            f"model is a {type(model).__name__}; pass a folder, a GGUF file or an LLMPipeline; "
            "ContinuousBatching takes a ContinuousBatchingPipeline"
        )
    elif properties:
        raise ArgumentError("leave out properties: this model is loaded already")
    tokenizer = model.get_tokenizer() if tokenizer is None else tokenizer
    return TextGeneration(model, Model(tokenizer, vocabulary, format, reasoning, name, options))


def _inputs(ids: list[int]) -> TokenizedInputs:
    row = np.array([ids], dtype=np.int64)
    return TokenizedInputs(Tensor(row), Tensor(np.ones_like(row)))

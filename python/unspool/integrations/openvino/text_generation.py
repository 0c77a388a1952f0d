"""An `LLMPipeline` that is called with messages and gives deltas, or a `Message`."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import Any, Literal, overload

import numpy as np
from openvino import Tensor
from openvino_genai import GenerationConfig, LLMPipeline, TokenizedInputs, Tokenizer

from unspool._core import DeltaChannel, Format
from unspool.channel_stream import ChannelStream
from unspool.errors import ArgumentError
from unspool.format_files import FormatFile
from unspool.generation.worker import GenerationWorker, check_timeout
from unspool.integrations.openvino.model import Model, Tools, tools_of
from unspool.integrations.openvino.streamer import ChannelStreamer
from unspool.message import Message

__all__ = ["TextGeneration", "pipeline"]


class TextGeneration:
    """A pipeline of GenAI that is called with a prompt; `pipeline` makes it.

    One answer is generated at a time; a further call waits. `ContinuousBatching` runs several at once.

    Attributes:
        pipe: The `LLMPipeline`.
        model: Its tokenizer, vocabulary and format.
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
            prompt: Chat messages, a `ChatHistory`, a text, or token ids. A text is the user's message where the
                model has a chat template, as GenAI has it; `apply_chat_template=False` takes it as it is.
            tools: The request's tools; of a `ChatHistory` its own, if None.
            stream: Whether deltas are given as they come.
            config: In place of the pipeline's.
            chat_template_kwargs: What the chat template reads besides, such as `enable_thinking`.
            timeout: Seconds to wait for the next token, then StreamTimeout; the model is asked to stop.
            options: Fields of `GenerationConfig`, such as `max_new_tokens`, and options of `TokenStreamer`, such as
                `tool_choice` and `stop`.

        Returns:
            A `Message`; with `stream` the deltas: iterate them, with `for` or `async for`. Leaving them stops
            the model.

        Raises:
            ArgumentError: The prompt is empty or none, or an option is not known or cannot be streamed.
            ContextLengthError: The tokenizer has cut the prompt.
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
    """An `LLMPipeline` of GenAI that gives deltas, or a `Message`.

    Args:
        model: A folder of OpenVINO's, a GGUF file, or an `LLMPipeline`.
        device: Where a model that is loaded here runs.
        tokenizer: Of GenAI; None: the pipeline's.
        vocabulary: What the ids mean, as a `Vocabulary`, a `tokenizer.json` read by it, or another tokenizer of
            the model; None: as GenAI's tokenizer says.
        format, reasoning: As of `Parser`. "auto" asks the chat template, the tokens and the model's name.
        properties: More for `LLMPipeline`, such as `{"ATTENTION_BACKEND": "SDPA"}`.
        options: Further options of `TokenStreamer` for all answers.

    Raises:
        ArgumentError: The model is none of these, or its format cannot be detected.
        VocabularyError: The tokenizer cannot be compiled.
    """
    name = None
    if isinstance(model, (str, os.PathLike)):
        name = os.fspath(model)
        given = [name, device] if tokenizer is None else [name, tokenizer, device]
        model = LLMPipeline(*given, **dict(properties or {}))
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

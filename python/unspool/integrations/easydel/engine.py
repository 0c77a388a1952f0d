"""`vInference`: EasyDeL's engine, as a `StreamGenerator`."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Coroutine, Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from unspool.generation import SamplingParams
from unspool.generation.hooks import ConditioningHook
from unspool.generation.stream_generator import StreamGenerator
from unspool.integrations.easydel.config import InferenceConfig, PreCompileConfig
from unspool.integrations.easydel.content_parts import join_parts_of_prompt
from unspool.integrations.easydel.inference_name import read_inference_name
from unspool.integrations.easydel.outputs import PromptOutput, SampleState
from unspool.integrations.easydel.precompile import PrecompiledShapes, TooLong, fit_prompt
from unspool.integrations.easydel.prefill_length import prefill_length
from unspool.integrations.easydel.process_prompts import (
    PromptEvent,
    process_prompt,
    process_prompts_concurrently,
)
from unspool.integrations.easydel.progress import ProgressCallback
from unspool.integrations.easydel.saved_inference import load_inference, save_inference

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["vInference"]

Sampling = SamplingParams | Mapping[str, Any] | None


class vInference(StreamGenerator):
    """A `StreamGenerator` with the methods of EasyDeL's `vInference`.

    Args:
        model, tokenizer, processor, options: As of `StreamGenerator`.
        config: An `InferenceConfig`; None: its defaults.
        name: The engine's name (`inference_name`); None: "{model_type}-{size}B-{date}", such as
            "llama-8.03B-2026-11-21".

    Raises:
        ArgumentError: As of `StreamGenerator`, or the name is empty.
        TypeError: As of `StreamGenerator`, or the name is not a str.
    """

    config: InferenceConfig

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        processor: Any = None,
        *,
        config: InferenceConfig | None = None,
        name: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(model, tokenizer, processor, config=config, **options)
        if not isinstance(self.config, InferenceConfig):
            self.config = InferenceConfig.from_dict(self.config.to_dict())
        self.inference_name = read_inference_name(name, model)
        self._shapes = PrecompiledShapes()

    @overload
    def process_prompt(
        self, prompt: list[str], sampling_params: Sampling = None, stream: Literal[False] = False
    ) -> list[PromptOutput]: ...
    @overload
    def process_prompt(
        self, prompt: list[str], sampling_params: Sampling = None, *, stream: Literal[True]
    ) -> list[Generator[str, None, SampleState]]: ...
    @overload
    def process_prompt(
        self, prompt: Any, sampling_params: Sampling = None, stream: Literal[False] = False
    ) -> PromptOutput: ...
    @overload
    def process_prompt(
        self, prompt: Any, sampling_params: Sampling = None, *, stream: Literal[True]
    ) -> Generator[str, None, SampleState]: ...
    @overload
    def process_prompt(self, prompt: Any, sampling_params: Sampling = None, stream: bool = False) -> Any: ...
    def process_prompt(self, prompt: Any, sampling_params: Sampling = None, stream: bool = False) -> Any:
        """Answer a prompt, with one output or with a stream of text.

        The text is the first answer's content, without reasoning and calls. With `format="none"` it is the whole
        output. `config.max_new_tokens` is the upper limit of a request's `max_tokens`.

        Args:
            prompt: As of `stream`; or a list of texts: several prompts, one after the other.
            sampling_params: Of this request. Fields that are None are those of `config.sampling_params`.
            stream: False: the whole output. True: a generator of texts of `config.streaming_chunks` tokens
                each, none of them empty, that returns the final `SampleState`; the model starts with the
                first `next`.

        Returns:
            An output or a generator; for a list of texts a list of these. In a list, an output reports its prompt's
            failure in `error`. All other errors of the model are raised unchanged.

        Raises:
            TypeError: `sampling_params` is neither SamplingParams nor a mapping.
            ArgumentError: A prompt is empty or is not a prompt, or as of `stream`; at the call.
        """
        return process_prompt(self, prompt, sampling_params, stream)

    @overload
    def process_prompts_concurrently(
        self,
        prompts: Sequence[Any],
        max_concurrent_requests: int,
        sampling_params: Sampling = None,
        stream: Literal[False] = False,
        progress_callback: ProgressCallback | None = None,
        progress: bool = False,
    ) -> Coroutine[Any, Any, list[PromptOutput]]: ...
    @overload
    def process_prompts_concurrently(
        self,
        prompts: Sequence[Any],
        max_concurrent_requests: int,
        sampling_params: Sampling = None,
        *,
        stream: Literal[True],
        progress_callback: ProgressCallback | None = None,
        progress: bool = False,
    ) -> AsyncGenerator[PromptEvent, None]: ...
    @overload
    def process_prompts_concurrently(
        self,
        prompts: Sequence[Any],
        max_concurrent_requests: int,
        sampling_params: Sampling = None,
        stream: bool = False,
        progress_callback: ProgressCallback | None = None,
        progress: bool = False,
    ) -> Any: ...
    def process_prompts_concurrently(
        self,
        prompts: Sequence[Any],
        max_concurrent_requests: int,
        sampling_params: Sampling = None,
        stream: bool = False,
        progress_callback: ProgressCallback | None = None,
        progress: bool = False,
    ) -> Any:
        """Answer several prompts at a time; the event loop is never blocked.

        Args:
            prompts: Each as of `stream`.
            max_concurrent_requests: The most prompts that run at a time; 0 or less: one after the other.
            sampling_params: Of every prompt, as of `process_prompt`.
            stream: False: await the list of outputs, in the order of the prompts; `error` reports a failure.
                True: iterate events with `async for` as they arrive: (index, "text", str), as of `process_prompt`,
                and after the last text of each prompt (index, "final", PromptOutput) or (index, "error", str).
                `aclose()`, or cancelling the task, stops every model within two steps.
            progress_callback: Called with (completed, total) after each prompt. The logger "unspool" logs its
                exceptions.
            progress: Whether to show a bar on standard error.

        Raises:
            TypeError: An argument is of the wrong type; at the call.
            ArgumentError: The sampling parameters are invalid, as of `stream`; at the call. An invalid prompt is
                an "error" event, or the `error` of its output.
        """
        return process_prompts_concurrently(
            self, prompts, max_concurrent_requests, sampling_params, stream, progress_callback, progress
        )

    def count_tokens(
        self,
        prompt: Any,
        oai_like: bool = False,
        *,
        tools: Sequence[Any] | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
    ) -> int:
        """As of `StreamGenerator.count_tokens`.

        Args:
            oai_like: Join contents that are OpenAI's lists of parts ({"type": "text"}) to text first, for
                chat templates that accept only text.

        Raises:
            ArgumentError: As of `StreamGenerator.count_tokens`, or `oai_like` is set and a part is not text.
        """
        prompt = join_parts_of_prompt(prompt) if oai_like else prompt
        return super().count_tokens(prompt, tools=tools, chat_template_kwargs=chat_template_kwargs)

    def precompile(self, config: PreCompileConfig) -> bool:
        """Warm up: generate one token after a prompt of each shape, as a request does.

        This pays the cost of a first run: weights are read, kernels are loaded and chosen, memory is allocated, and
        the tables of the vocabulary and the format are built. A model under `torch.compile` compiles. Eager torch
        compiles nothing for a shape, and no prompt is padded to one later. A batch of n is a prompt with n answers,
        as with `n=`. A prompt longer than `prefill.chunk_tokens` runs in chunks here too.

        Each shape runs once; concurrent callers wait for it. This method blocks: beside an event loop, call it in a
        thread.

        Returns:
            True.

        Raises:
            ArgumentError: A prefill length leaves no room for `config.max_new_tokens`, or is None and the model's
                config has no length.
            BaseException: The model's exception. It is raised in all waiting callers; the next call tries again.
        """
        return self._shapes.run(self, config)

    @property
    def model_prefill_length(self) -> int:
        """The most token ids of a prompt that leaves room for `config.max_new_tokens`.

        Raises:
            ArgumentError: The model's config has no number of positions.
        """
        return prefill_length(self.model, self.config.max_new_tokens)

    @property
    def precompiled_shapes(self) -> tuple[tuple[int, int], ...]:
        """(batch size, prefill length) of each shape that `precompile` has run or a loaded file lists."""
        return self._shapes.shapes

    def choose_bucket(self, length: int) -> int | None:
        """The smallest precompiled prefill length for this many token ids; None if all are shorter."""
        return self._shapes.choose_bucket(length)

    def fit_prompt(self, prompt: Any, too_long: TooLong = "error") -> list[int]:
        """Return a prompt's token ids, at most as many as the longest precompiled prefill length.

        A request does not enforce this length, since no shape is fixed; to enforce it, pass the ids returned here.
        If nothing is precompiled, `model_prefill_length` is the limit.

        Args:
            prompt: Text, messages of text, or token ids.
            too_long: For a longer prompt: "truncate-left" keeps its last token ids, "truncate-right" its first.

        Raises:
            ArgumentError: The prompt is longer and `too_long` is "error", or cannot be cut.
        """
        return fit_prompt(self, prompt, too_long)

    def save_inference(self, directory: str | os.PathLike[str]) -> Path:
        """Write name, config, format, reasoning, backend, prefill, parser options and precompiled shapes.

        They are one JSON file, `inference.json`, with a version. It does not contain the model, tokenizer, processor
        or hook. A missing directory is created.

        Returns:
            The file.

        Raises:
            ArgumentError: The format is an object that is not registered under a name.
            TypeError: `partition_rules` or `partition_axis` of the config has no JSON form.
        """
        return save_inference(self, directory)

    @classmethod
    def load_inference(
        cls,
        directory: str | os.PathLike[str],
        model: Any,
        tokenizer: Any = None,
        processor: Any = None,
        *,
        hook: ConditioningHook | None = None,
    ) -> Self:
        """Make an engine with the settings that `save_inference` wrote.

        `precompiled_shapes` and `choose_bucket` know the saved shapes. `precompile` still runs each one once, since a
        new process is not warm.

        Raises:
            FileNotFoundError: The directory has no such file.
            ArgumentError: The file is broken or of another version, or its format is not registered.
        """
        return load_inference(cls, directory, model, tokenizer, processor, hook)

    def restore_shapes(self, shapes: Sequence[tuple[int, int]]) -> None:
        """Restore the buckets of a saved file, without running them."""
        self._shapes = PrecompiledShapes(shapes)

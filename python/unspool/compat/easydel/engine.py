"""`vInference`: EasyDeL's engine, as a `StreamGenerator`."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Coroutine, Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from unspool import ConditioningHook, StreamGenerator
from unspool.compat.easydel.config import InferenceConfig, PreCompileConfig
from unspool.compat.easydel.content_parts import join_parts_of_prompt
from unspool.compat.easydel.inference_name import read_inference_name
from unspool.compat.easydel.outputs import PromptOutput, SampleState
from unspool.compat.easydel.precompile import PrecompiledShapes, TooLong, fit_prompt
from unspool.compat.easydel.prefill_length import prefill_length
from unspool.compat.easydel.process_prompts import PromptEvent, process_prompt, process_prompts_concurrently
from unspool.compat.easydel.progress import ProgressCallback
from unspool.compat.easydel.saved_inference import load_inference, save_inference
from unspool.generation import SamplingParams

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
        """The answer to a prompt, at once or as text that comes.

        The text is the answer's content, without reasoning and calls (`format="none"` has all of it); that
        of the first answer if there are several. `config.max_new_tokens` is the most that a request's
        `max_tokens` can ask for.

        Args:
            prompt: As of `stream`; or a list of texts: several prompts, one after the other.
            sampling_params: Of this request; what it leaves open, `config.sampling_params` says.
            stream: False: the whole output. True: a generator of texts of `config.streaming_chunks` tokens
                each, none of them empty, that returns the final `SampleState`; the model starts with the
                first `next`.

        Returns:
            An output or a generator; for a list of texts a list of these. There, an output has its prompt's
            failure in `error`; all other errors of the model are raised as they are.

        Raises:
            TypeError: `sampling_params` is neither SamplingParams nor a mapping.
            ArgumentError: A prompt is empty or none, or as of `stream`; at the call.
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
        """Several prompts at a time; the event loop is never blocked.

        Args:
            prompts: Each as of `stream`.
            max_concurrent_requests: At most so many at a time; 0 or less: one after the other.
            sampling_params: Of every prompt, as of `process_prompt`.
            stream: False: await the list of outputs, in the order of the prompts; one that failed says so in
                `error`. True: iterate with `async for` what comes, in the order in which it comes:
                (index, "text", str), as of `process_prompt`, and at last for each prompt
                (index, "final", PromptOutput) or (index, "error", str). Leaving it (`aclose()`), or
                cancelling the task, stops every model within two steps.
            progress_callback: Called with (completed, total) after each prompt; an exception of it is
                logged by the logger "unspool".
            progress: Whether a bar is shown on standard error.

        Raises:
            TypeError: An argument is of the wrong type; at the call.
            ArgumentError: As of `stream`, of the sampling parameters; at the call. A bad prompt is an error
                of its own.
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
                chat templates that know text alone.

        Raises:
            ArgumentError: As there, or `oai_like` is set and a part is not text.
        """
        prompt = join_parts_of_prompt(prompt) if oai_like else prompt
        return super().count_tokens(prompt, tools=tools, chat_template_kwargs=chat_template_kwargs)

    def precompile(self, config: PreCompileConfig) -> bool:
        """Warm up: a token after a prompt of each shape, by the way that a request takes.

        With eager torch nothing is compiled for a shape, and at run time no prompt is padded to one. The cost
        of a first run is still paid here: weights are read in, kernels are loaded and chosen, memory
        is set aside; a model under `torch.compile` compiles; the vocabulary and the format's tables are
        built. A batch of n is a prompt with n answers, as `n=` runs it; a prompt longer than
        `prefill.chunk_tokens` goes in chunks here too.

        Each shape is run once, concurrent callers included: the others wait for the one that does it. It
        blocks; call it in a thread where an event loop runs.

        Returns:
            True.

        Raises:
            ArgumentError: A prefill length that leaves no room for `config.max_new_tokens`, or None where
                the model does not know its length.
            BaseException: What the model raised; all that wait get it, and the next call tries again.
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
        """(batch size, prefill length) of each shape that `precompile` has run, or the loaded file names."""
        return self._shapes.shapes

    def choose_bucket(self, length: int) -> int | None:
        """The smallest precompiled prefill length that holds so many token ids; None if none does."""
        return self._shapes.choose_bucket(length)

    def fit_prompt(self, prompt: Any, too_long: TooLong = "error") -> list[int]:
        """A prompt's token ids, no more than the longest precompiled prefill length.

        Requests are not held to that length, since no shape is fixed; who wants it passes what this gives.
        Where nothing is precompiled, `model_prefill_length` is the limit.

        Args:
            prompt: Text, messages of text, or token ids.
            too_long: Of a longer prompt, "truncate-left" keeps the last token ids, "truncate-right" the first.

        Raises:
            ArgumentError: The prompt is longer and `too_long` is "error", or cannot be cut.
        """
        return fit_prompt(self, prompt, too_long)

    def save_inference(self, directory: str | os.PathLike[str]) -> Path:
        """Write name, config, format, reasoning, backend, prefill, parser options and precompiled shapes.

        One JSON file, `inference.json`, with a version; the directory is made if it is missing. Model,
        tokenizer, processor and hook are not in it.

        Returns:
            The file.

        Raises:
            ArgumentError: The format is an object to which no name leads.
            TypeError: A `partition_rules` or `partition_axis` of the config has no JSON form.
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
        """A generator with the settings that `save_inference` wrote.

        The precompiled shapes are known again (`precompiled_shapes`, `choose_bucket`); `precompile` runs
        each once all the same, since what it warms is in the process and not in a file.

        Raises:
            FileNotFoundError: The directory has no such file.
            ArgumentError: The file is broken or of another version, or its format is not registered.
        """
        return load_inference(cls, directory, model, tokenizer, processor, hook)

    def restore_shapes(self, shapes: Sequence[tuple[int, int]]) -> None:
        """Know these shapes as buckets, without a run: those of a file."""
        self._shapes = PrecompiledShapes(shapes)

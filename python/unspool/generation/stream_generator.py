"""A model with its tokenizer, ready to stream."""

from __future__ import annotations

import functools
import os
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from unspool.errors import ArgumentError
from unspool.generation.count_tokens import count_tokens
from unspool.generation.delta_generator import DeltaGenerator
from unspool.generation.delta_stream import DeltaStream
from unspool.generation.hooks import ConditioningHook
from unspool.generation.inference_config import PreCompileConfig
from unspool.generation.process_prompts import (
    PromptEvent,
    process_prompt,
    process_prompts_concurrently,
)
from unspool.generation.progress import ProgressCallback
from unspool.generation.prompt import is_standard, read_prompt
from unspool.generation.sampling_params import SamplingParams
from unspool.generation.saved_inference import load_inference, save_inference
from unspool.generation.warm_up import TooLong, fit_prompt

if TYPE_CHECKING:
    from typing_extensions import Self

    from unspool.generation.outputs import PromptOutput, SampleState

__all__ = ["StreamGenerator"]

Sampling = SamplingParams | Mapping[str, Any] | None


class StreamGenerator(DeltaGenerator):
    """Streams what a model writes: every call runs in a worker thread of its own and is only consumed here.

    Args:
        model: A transformers model, or anything with its `generate`; for `backend="native"` its `forward`.
        tokenizer: The model's tokenizer; None: that of the processor.
        processor: Of a model that sees or hears.
        format: How this model writes, as of `Parser`. "auto": what `detect` finds; plain text for a tokenizer
            without a chat template.
        reasoning: As of `Parser`.
        config: Limits and special tokens; its token ids default to the model's, then the tokenizer's.
        backend: "transformers" runs `model.generate`; "native" our own loop, a forward a token.
        prefill: How the prompt is run: a `PrefillConfig`, a number of tokens a chunk, False: in one go.
        hook: Conditions the model for each request; its streams are serialised then.
        name: What the engine is called (`inference_name`); None: "{model_type}-{size}B-{date}", such as
            "llama-8.03B-2026-11-21".
        parser_options: Further options of `Parser` for every stream, such as `repair=True`.

    Raises:
        UnknownFormatError: No format has this name.
        ArgumentError: No tokenizer, an unknown backend, or no end token is known if `config` is given.
    """

    def stream_generate(
        self, batch: Any, max_new_tokens: int = 50, *, normalize: bool = False, **options: Any
    ) -> Generator[str, None, SampleState]:
        """The text of one sample, without empty strings.

        Args:
            batch: A sequence of exactly one sample: a prompt as of `stream`, or what `encode_sample` reads.
            normalize: Passed to `encode_sample`.
            options: As of `stream`.
        """
        if isinstance(batch, (str, Mapping)) or not hasattr(batch, "__len__"):
            raise ArgumentError("a batch is a sequence of exactly one sample; put the sample into a list")
        if len(batch) != 1:
            raise ArgumentError(f"the batch has {len(batch)} samples; streaming takes exactly one sample")
        return self.stream_prompt(batch[0], max_new_tokens, normalize, **options)

    def stream_prompt(
        self, prompt: Any, max_new_tokens: int = 1000, normalize: bool = False, **options: Any
    ) -> Generator[str, None, SampleState]:
        """The text for one prompt, without empty strings; the model is put into evaluation mode.

        Args:
            prompt: A prompt as of `stream`, or what `encode_sample` reads.
            normalize: Passed to `encode_sample`.
            options: As of `stream`.
        """
        options["max_new_tokens"] = max_new_tokens
        if is_standard(prompt) and not normalize:
            start: Callable[[], DeltaStream] = functools.partial(self.stream, prompt, **options)
        else:
            start = functools.partial(self._stream_sample, prompt, normalize, **options)
        if getattr(self.model, "training", False):
            self.model.eval()
        return start().text()

    def encode_sample(self, sample: Any, normalize: bool) -> Mapping[str, Any]:
        """Turn a sample of your own into model inputs; runs in the worker, under inference mode.

        Args:
            sample: What was given to `stream_prompt`, or is in the batch of `stream_generate`.
            normalize: Whether its series are to be scaled.

        Returns:
            Model inputs of one row: `input_ids`, or `inputs_embeds` with an `attention_mask`, ….
        """
        raise NotImplementedError(
            f"{type(self).__name__}.encode_sample(sample, normalize) is missing: it makes model inputs of "
            f"{type(sample).__name__}"
        )

    def _stream_sample(self, sample: Any, normalize: bool, **options: Any) -> DeltaStream:
        if type(self).encode_sample is StreamGenerator.encode_sample:
            self.encode_sample(sample, normalize)  # raises
        timeout = options.pop("stream_timeout", options.pop("timeout", None))
        known = {
            name: options.pop(name)
            for name in ("tool_choice", "response_format", "grammar", "sampling", "stop", "raw")
            if name in options
        }
        return self._start(
            lambda: read_prompt(self.encode_sample(sample, normalize)),
            options.pop("tools", None),
            timeout=timeout,
            options=options,
            **known,
        )

    # Prompts in, texts out: see process_prompts.py, count_tokens.py, warm_up.py and saved_inference.py

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
        """How many token ids a prompt has: `usage.prompt_tokens` of its answer.

        Args:
            prompt: As of `stream`: text, with the special tokens that the tokenizer adds; messages, through
                the chat template up to where the answer begins; or token ids.
            oai_like: Contents that are OpenAI's lists of parts ({"type": "text"}) are joined to text first,
                for chat templates that know text alone.
            tools, chat_template_kwargs: As of `stream`; they change what the chat template writes.

        Raises:
            ArgumentError: The prompt is empty or none, or `oai_like` and a part is not text.
        """
        return count_tokens(self, prompt, oai_like, tools, chat_template_kwargs or {})

    def tokenize(
        self,
        prompt: Any,
        *,
        tools: Sequence[Any] | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
    ) -> list[int]:
        """The token ids that the model is given for a prompt: the arguments and errors of `count_tokens`."""
        return self._encoder.ids(self._render(read_prompt(prompt), tools, dict(chat_template_kwargs or {})))

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
        return self._warm_up.run(self, config)

    @property
    def precompiled_shapes(self) -> tuple[tuple[int, int], ...]:
        """(batch size, prefill length) of each shape that `precompile` has run, or the loaded file names."""
        return self._warm_up.shapes

    def choose_bucket(self, length: int) -> int | None:
        """The smallest precompiled prefill length that holds so many token ids; None if none does."""
        return self._warm_up.choose_bucket(length)

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

"""`vInference`: EasyDeL's engine, as a `StreamGenerator`."""

from __future__ import annotations

import datetime
import os
from collections.abc import AsyncGenerator, Coroutine, Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unspool.errors import ArgumentError
from unspool.generation import ConditioningHook, SamplingParams, StreamResult
from unspool.generation.stream_generator import StreamGenerator
from unspool.integrations.easydel.config import InferenceConfig, PreCompileConfig
from unspool.integrations.easydel.outputs import PromptOutput, SampleState
from unspool.integrations.easydel.precompile import PrecompiledShapes, prefill_length
from unspool.integrations.easydel.process_prompts import PromptEvent, Requests, sample_states
from unspool.integrations.easydel.progress import ProgressCallback
from unspool.integrations.easydel.prompts import TooLong, cut_prompt, join_content_parts
from unspool.integrations.easydel.saved_inference import FILE_NAME, read_inference, write_inference

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["vInference"]

Sampling = SamplingParams | Mapping[str, Any] | None


class vInference(StreamGenerator):
    """A `StreamGenerator` with the methods of EasyDeL's `vInference`.

    Args:
        model, tokenizer, processor, options: See `StreamGenerator`.
        config: An `InferenceConfig`; None: its defaults.
        name: The engine's name (`inference_name`); None: "{model_type}-{size}B-{date}", such as
            "llama-8.03B-2026-11-21". The size is in billions of parameters, 0.00 if the model does not show it.
        processor_class, generation_config, inference_name: EasyDeL's names for tokenizer or processor, config, name.
        max_new_tokens: Maximum number of tokens in an answer; replaces the config's.
        seed: The seed for requests that have none.
        input_partition_spec: JAX's sharding of the inputs; no effect.

    Raises:
        ArgumentError: As in `StreamGenerator`, or the name is empty.
        TypeError: As in `StreamGenerator`, or the name is not a str.
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
        processor_class: Any = None,
        generation_config: InferenceConfig | None = None,
        inference_name: str | None = None,
        max_new_tokens: int | None = None,
        seed: int | None = None,
        input_partition_spec: Any = None,  # noqa: ARG002
        **options: Any,
    ) -> None:
        if hasattr(processor_class, "tokenizer"):
            processor = processor_class
        elif processor_class is not None:
            tokenizer = processor_class
        config = generation_config if config is None else config
        super().__init__(model, tokenizer, processor, config=config, **options)
        if not isinstance(self.config, InferenceConfig):
            self.config = InferenceConfig.from_dict(self.config.to_dict())
        if max_new_tokens is not None:
            self.config = self.config.replace(max_new_tokens=max_new_tokens)
        if seed is not None:
            params = SamplingParams(seed=seed).with_defaults(self.config.sampling_params)
            self.config = self.config.replace(sampling_params=params)
        self.inference_name = _read_name(inference_name if name is None else name, model)
        self.shapes = PrecompiledShapes()

    def generate(  # type: ignore[override]
        self, prompt: Any = None, attention_mask: Any = None, sampling_params: Sampling = None, **options: Any
    ) -> StreamResult | Generator[SampleState, None, None]:
        """Answer a prompt as `StreamGenerator.generate` does; for a tensor of ids, return EasyDeL's iterator of states.

        Args:
            prompt: See `stream`. For a tensor of ids of shape (1, n), here or as `input_ids=`, the result yields a
                `SampleState` every `config.streaming_chunks` tokens, and the last one when the answer has ended.
            attention_mask: The attention mask of the ids.
            sampling_params: The parameters of this request; see `process_prompt`.
            options: See `stream`.
        """
        mask = {} if attention_mask is None else {"attention_mask": attention_mask}
        if prompt is None:
            prompt = options.pop("input_ids", None)
        if not hasattr(prompt, "shape"):
            if sampling_params is not None:
                options["sampling"] = sampling_params
            return super().generate(prompt, **mask, **options)
        requests = Requests(self, self.config, sampling_params)
        start = requests.check(prompt, **mask, **options)
        return sample_states(start, self.config.streaming_chunks)

    def process_prompt(self, prompt: Any, sampling_params: Sampling = None, stream: bool = False) -> Any:
        """Answer a prompt, with one output or with a stream of text.

        The text is the first answer's content, without reasoning and calls. With `format="none"` it is the whole
        output. `config.max_new_tokens` is the upper limit of a request's `max_tokens`.

        Args:
            prompt: See `stream`; or a list of texts, which are several prompts, answered one after the other.
            sampling_params: The parameters of this request. Fields that are None default to those of
                `config.sampling_params`.
            stream: False: return the whole output. True: return a generator of texts of `config.streaming_chunks`
                tokens each, none of them empty, that returns the final `SampleState`; the model starts with the
                first `next`.

        Returns:
            A `PromptOutput` or a generator; for a list of texts, a list of these. In a list, an output reports the
            failure of its prompt in `error`. All other errors of the model are raised unchanged.

        Raises:
            TypeError: `sampling_params` is neither SamplingParams nor a mapping.
            ArgumentError: A prompt is empty or is not a prompt, or as in `stream`. Raised at the call.
        """
        return Requests(self, self.config, sampling_params).process(prompt, stream)

    def process_prompts_concurrently(
        self,
        prompts: Sequence[Any],
        max_concurrent_requests: int,
        sampling_params: Sampling = None,
        stream: bool = False,
        progress_callback: ProgressCallback | None = None,
        progress: bool = False,
    ) -> Coroutine[Any, Any, list[PromptOutput]] | AsyncGenerator[PromptEvent, None]:
        """Answer several prompts at the same time, without blocking the event loop.

        Args:
            prompts: A sequence of prompts; see `stream`.
            max_concurrent_requests: Maximum number of prompts that run at the same time; 0 or less: one.
            sampling_params: The parameters for every prompt; see `process_prompt`.
            stream: False: await the list of outputs, in the order of the prompts; `error` reports a failure.
                True: iterate events with `async for` as they arrive: (index, "text", str), as in `process_prompt`,
                and after the last text of each prompt (index, "final", PromptOutput) or (index, "error", str).
                `aclose()`, or cancelling the task, stops every model within two steps.
            progress_callback: Called with (completed, total) after each prompt. Its exceptions are logged by the
                logger "unspool".
            progress: Whether to show a progress bar on standard error.

        Raises:
            TypeError: An argument has the wrong type. Raised at the call.
            ArgumentError: The sampling parameters are invalid, as in `stream`. Raised at the call. An invalid prompt
                instead results in an "error" event, or in the `error` of its output.
        """
        requests = Requests(self, self.config, sampling_params)
        return requests.process_concurrently(
            prompts, max_concurrent_requests, stream, progress_callback, progress
        )

    def count_tokens(self, prompt: Any, oai_like: bool = False, **options: Any) -> int:
        """Count the tokens of a prompt; see `StreamGenerator.count_tokens`.

        Args:
            oai_like: Whether to join contents that are OpenAI's lists of parts ({"type": "text"}) to text first, for
                chat templates that accept only text.
            options: `tools`, `chat_template_kwargs`, `prefill`.

        Raises:
            ArgumentError: As in `StreamGenerator.count_tokens`, or `oai_like` is set and a part is not text.
        """
        prompt = join_content_parts(prompt) if oai_like else prompt
        return super().count_tokens(prompt, **options)

    def precompile(self, config: PreCompileConfig) -> bool:
        """Warm up the model: generate one token after a prompt of each shape, as a request does.

        This does the work of a first run: weights are read, kernels are loaded and chosen, memory is allocated, and
        the tables of the vocabulary and the format are built. A model under `torch.compile` compiles. Eager torch
        compiles nothing for a shape, and later prompts are not padded to a shape. A batch of n is a prompt with n
        answers, as with `n=`. A prompt longer than `prefill.chunk_tokens` runs in chunks here too.

        Each shape runs once; concurrent callers wait for it. This method blocks, so call it in a thread if there is an
        event loop.

        Returns:
            True.

        Raises:
            ArgumentError: A prefill length leaves no room for `config.max_new_tokens`, or is None and the model's
                config has no length.
            BaseException: The model's exception. It is raised in all waiting callers; the next call tries again.
        """
        return self.shapes.run(config, self._read_length, self._run_shape)

    @property
    def model_prefill_length(self) -> int:
        """The maximum number of token ids in a prompt that leaves room for `config.max_new_tokens`.

        Raises:
            ArgumentError: The model's config has no number of positions.
        """
        return prefill_length(self.model, self.config.max_new_tokens)

    @property
    def precompiled_shapes(self) -> tuple[tuple[int, int], ...]:
        """(batch size, prefill length) of each shape that `precompile` has run or a loaded file lists."""
        return self.shapes.shapes

    def choose_bucket(self, length: int) -> int | None:
        """Return the smallest precompiled prefill length for this many token ids; None if all are shorter."""
        return self.shapes.choose_bucket(length)

    def fit_prompt(self, prompt: Any, too_long: TooLong = "error") -> list[int]:
        """Return a prompt's token ids, at most as many as the longest precompiled prefill length.

        A request does not enforce this length, since no shape is fixed; to enforce it, pass the ids returned here.
        If nothing is precompiled, `model_prefill_length` is the limit.

        Args:
            prompt: Text, messages of text, or token ids.
            too_long: Handling of a longer prompt: "error" raises, "truncate-left" keeps the last token ids,
                "truncate-right" the first.

        Raises:
            ArgumentError: The prompt is longer and `too_long` is "error", or cannot be cut.
        """
        lengths = [length for _, length in self.precompiled_shapes]
        return cut_prompt(
            prompt, self.tokenize, lambda: max(lengths) if lengths else self.model_prefill_length, too_long
        )

    def save_inference(self, directory: str | os.PathLike[str]) -> Path:
        """Save the name, config, format, reasoning, backend, prefill, parser options and precompiled shapes.

        They are written to one JSON file, `inference.json`, with a version. It does not contain the model, tokenizer,
        processor or hook. A missing directory is created.

        Returns:
            The path of the file.

        Raises:
            ArgumentError: The format is an object that is not registered under a name.
            TypeError: `partition_rules` or `partition_axis` of the config cannot be expressed in JSON.
        """
        return write_inference(directory, self, self.inference_name or "", self.precompiled_shapes)

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
        """Create an engine with the settings that `save_inference` wrote.

        `precompiled_shapes` and `choose_bucket` include the saved shapes. `precompile` still runs each of them once,
        because a new process is not warm.

        Raises:
            FileNotFoundError: The directory has no such file.
            ArgumentError: The file is damaged or of another version, or its format is not registered.
        """
        file = Path(directory) / FILE_NAME
        arguments, shapes = read_inference(file)
        try:
            engine = cls(model, tokenizer, processor, hook=hook, **arguments)
        except TypeError as error:  # an option of another version's parser
            raise ArgumentError(f"{file} does not fit: {error}; save it again") from error
        engine.shapes = PrecompiledShapes(shapes)
        return engine

    def _read_length(self, length: int | None) -> int:
        """Check a prefill length and return it; for None, return the longest one."""
        if length is None:
            return self.model_prefill_length
        try:
            most = self.model_prefill_length
        except ArgumentError:  # the config has no length
            return length
        if length > most:
            raise ArgumentError(
                f"prefill_length is {length}, but a prompt may have {most} token ids, so that max_new_tokens="
                f"{self.config.max_new_tokens} fit after it; pass at most {most}"
            )
        return length

    def _run_shape(self, batch_size: int, length: int) -> None:
        """Generate one token after a prompt of this length, as a request does."""
        bos, pad = self.config.bos_token_id, self.config.pad_token_id
        ids = [pad or 0 if bos is None else bos] * length
        options: dict[str, Any] = {"do_sample": True} if batch_size > 1 else {}
        super().generate(ids, max_new_tokens=1, n=batch_size, seed=0, **options)


def _read_name(name: str | None, model: Any) -> str:
    """Check the given name and return it; for None, return the default."""
    if name is None:
        kind = getattr(getattr(model, "config", None), "model_type", None) or type(model).__name__.lower()
        return f"{kind}-{_parameter_count(model) / 1e9:.2f}B-{datetime.date.today().isoformat()}"
    if not isinstance(name, str):
        raise TypeError(f"name is of type {type(name).__name__}; pass a str")
    if not name:
        raise ArgumentError("name is empty; pass some text, or None for the default")
    return name


def _parameter_count(model: Any) -> int:
    count = getattr(model, "num_parameters", None)  # of transformers; counts quantized weights too
    if callable(count):
        return int(count())
    parameters = getattr(model, "parameters", None)
    return sum(parameter.numel() for parameter in parameters()) if callable(parameters) else 0

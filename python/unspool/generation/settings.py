"""The settings of a request, merged from the call, the config and the model."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from unspool.core.records import require_count
from unspool.core.wrong_call import unknown_option
from unspool.errors import ArgumentError
from unspool.generation.prefill.cache_name import CACHE_NAMES, pop_cache
from unspool.generation.sampling_params import GenerationDefaults, SamplingParams, same_answers

__all__ = ["GenerationSettings", "check_options", "own_limit", "read_settings"]

# The default `max_length` in generation configs of older transformers, which counts as no limit.
_NO_MAX_LENGTH = 20

# Options of `generate` that a stream does not support, with advice for each.
_REFUSED = {
    "streamer": "iterate the stream that the call returns instead",
    "stop_strings": "pass stop=, which ends the text exactly; stop_strings works on whole tokens",
}

# Options that `read_settings` reads; `generate` has no arguments with these names.
_OURS = frozenset(
    {"n", "seed", "logprobs", "max_reasoning_tokens", "logits_processor", "stopping_criteria", *CACHE_NAMES}
)


@dataclass(frozen=True)
class GenerationSettings:
    """The checked settings of a request.

    Attributes:
        options: The options of `generate` except the inputs.
        sampling: The effective parameters, from all sources. `max_tokens` is None if `max_length`, in the options or
            in the model's generation config, is the limit.
        eos: Ids that end an answer.
        does_sample: Whether tokens are sampled.
        has_own_limit: Whether the call has set the limit.
        cache: A cache of the prompt's first tokens.
        forced: Returns the ids that a grammar makes likely next; only if there is one answer.
    """

    options: dict[str, Any]
    sampling: SamplingParams = field(default_factory=SamplingParams)
    eos: frozenset[int] = frozenset()
    pad_token_id: int | None = None
    does_sample: bool = False
    has_own_limit: bool = True
    stopping_criteria: tuple[Any, ...] = ()
    logits_processors: tuple[Any, ...] = ()
    cache: Any = field(default=None, repr=False)
    forced: Callable[[], list[int]] = list
    generation_config: Any = field(default=None, repr=False)

    @property
    def limit(self) -> int | None:
        """Maximum number of tokens in an answer; None: as in the model's generation config."""
        return self.sampling.max_tokens

    @property
    def n(self) -> int:
        """The number of answers."""
        return self.sampling.n or 1

    def option(self, name: str, default: Any = None) -> Any:
        """Return an option of the call, else of the generation config, else `default`."""
        value = _first(self.options.get(name), getattr(self.generation_config, name, None))
        return default if value is None else value

    def with_options(self, **options: Any) -> GenerationSettings:
        """Return the same settings with other options of `generate`; `max_new_tokens` also sets the limit."""
        sampling = self.sampling.replace(max_tokens=options.get("max_new_tokens", self.limit))
        return dataclasses.replace(self, sampling=sampling, options={**self.options, **options})

    def with_seed(self, seed: int) -> GenerationSettings:
        """Return the same settings with another seed."""
        return dataclasses.replace(self, sampling=self.sampling.replace(seed=seed))

    def with_processor(self, processor: Any) -> GenerationSettings:
        """Return the same settings with a logits processor that runs after the caller's."""
        return dataclasses.replace(self, logits_processors=(*self.logits_processors, processor))

    def with_mask(
        self, processor: Any, criterion: Any, forced: Callable[[], list[int]]
    ) -> GenerationSettings:
        """Return the same settings with a grammar's mask, which runs after the processors that would undo it."""
        return dataclasses.replace(
            self,
            forced=forced,
            logits_processors=(*self.logits_processors, processor),
            stopping_criteria=(*self.stopping_criteria, criterion),
        )


def read_settings(
    model: Any,
    config: GenerationDefaults,
    sampling: SamplingParams,
    options: Mapping[str, Any],
) -> GenerationSettings:
    """Check and merge the settings. The first source that sets a value wins: the call, its sampling parameters, its
    `generation_config`, the config with its sampling parameters, the model's generation config.

    Raises:
        ArgumentError: Beam search, several greedy answers, a limit below 1, two caches, or an option that unspool sets.
    """
    limits = (sampling.max_tokens, options.get("max_new_tokens"), options.get("max_length"))
    params = sampling.with_defaults(config.sampling_params)
    merged: dict[str, Any] = {**params.to_generation_kwargs(), **options}
    call_config = merged.get("generation_config")
    for name, advice in _REFUSED.items():
        if merged.get(name) is not None or getattr(call_config, name, None) is not None:
            raise ArgumentError(f"{name} cannot be used here: {advice}")
    base = call_config or getattr(model, "generation_config", None)
    if (merged.get("num_beams") or getattr(base, "num_beams", None) or 1) > 1:
        raise ArgumentError("num_beams is above 1; beams are revised, so they cannot be streamed: use 1")
    if merged.get("max_new_tokens") is None and merged.get("max_length") is None:
        merged.update(own_limit(call_config) or {"max_new_tokens": config.max_new_tokens})
    for name in ("max_new_tokens", "max_length"):
        if merged.get(name) is None:
            merged.pop(name, None)
        else:
            require_count(name, merged[name])
    count = getattr(call_config, "num_return_sequences", None)
    n = _first(
        merged.pop("num_return_sequences", None),
        merged.pop("n", None),
        params.n,
        None if count == 1 else count,  # 1 is the default of older transformers, and counts as not set
        config.answer_count,
    )
    require_count("n", n)
    do_sample = bool(_first(merged.get("do_sample"), getattr(base, "do_sample", None), False))
    if n > 1 and not do_sample:
        raise same_answers(n)
    sources = (merged, call_config, config, base)
    eos = _first(*(_token_id(source, "eos_token_id") for source in sources))
    eos_ids = frozenset(eos if isinstance(eos, (list, tuple, set)) else () if eos is None else (int(eos),))
    pad = _first(*(_token_id(source, "pad_token_id") for source in sources), min(eos_ids, default=None))
    eos_ids = (frozenset() if params.ignore_eos else eos_ids) | {*params.stop_token_ids}
    return GenerationSettings(
        sampling=params.replace(
            max_tokens=merged.get("max_new_tokens"),
            max_reasoning_tokens=_first(
                merged.pop("max_reasoning_tokens", None), params.max_reasoning_tokens
            ),
            n=n,
            seed=_first(merged.pop("seed", None), params.seed),
            logprobs=_first(merged.pop("logprobs", None), params.logprobs),
        ),
        eos=eos_ids,
        pad_token_id=pad,
        does_sample=do_sample,
        has_own_limit=any(limit is not None for limit in limits),
        stopping_criteria=tuple(merged.pop("stopping_criteria", None) or ()),
        logits_processors=tuple(merged.pop("logits_processor", None) or ()),
        cache=pop_cache(merged),
        generation_config=base,
        options=merged,
    )


def check_options(model: Any, options: Iterable[str]) -> None:
    """Raise UnknownOptionError for options that nothing reads; transformers would raise later, in the worker.

    A model whose own `generate` accepts any keyword is not checked.
    """
    left = sorted(set(options) - _OURS - _config_names())
    if not left or not hasattr(model, "_validate_model_kwargs"):
        return
    readers = [model.generate, model.forward, model.prepare_inputs_for_generation]
    if getattr(getattr(model, "config", None), "is_encoder_decoder", False):
        readers.append(model.get_encoder().forward)
    known = {name for reader in readers for name in _names(reader)}
    unknown = [name for name in left if name not in known and not name.startswith("decoder_")]
    if unknown:
        raise unknown_option("stream", unknown[0], known | _OURS | _config_names())


def _names(function: Callable[..., Any]) -> list[str]:
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [name for name, item in inspect.signature(function).parameters.items() if item.kind not in kinds]


@functools.cache
def _config_names() -> frozenset[str]:
    from transformers import GenerationConfig

    return frozenset(vars(GenerationConfig()))


def own_limit(generation_config: Any) -> dict[str, int]:
    """Return the limit in a generation config as an option of `generate`; {} if there is none."""
    limit = getattr(generation_config, "max_new_tokens", None)
    if limit is not None:
        return {"max_new_tokens": limit}
    length = getattr(generation_config, "max_length", None)
    return {} if length in (None, _NO_MAX_LENGTH) else {"max_length": length}


def _token_id(source: Any, name: str) -> Any:
    value: Any = source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)
    return value.tolist() if hasattr(value, "tolist") else value


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)

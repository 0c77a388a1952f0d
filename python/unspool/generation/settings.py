"""The settings of a request, merged from the call, the config and the model."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unspool.errors import ArgumentError
from unspool.generation.defaults import GenerationDefaults
from unspool.generation.logprobs import check_top_count
from unspool.generation.prefill.cache_name import CACHE_NAMES, pop_cache
from unspool.generation.sampling_params import SamplingParams

__all__ = ["GenerationSettings", "check_options", "own_limit", "read_settings"]

# The default limit in generation configs of older transformers.
_NO_MAX_LENGTH = 20

# Options of `generate` that a stream cannot honour, with what to do instead.
_REFUSED = {
    "streamer": "iterate the stream that the call returns instead",
    "stop_strings": "pass stop=, which ends the text exactly; stop_strings works on whole tokens",
}

# Options that `read_settings` reads; `generate` has no argument of these names.
_OURS = frozenset({"n", "seed", "logprobs", "logits_processor", "stopping_criteria", *CACHE_NAMES})


@dataclass(frozen=True)
class GenerationSettings:
    """One request's settings, checked.

    Attributes:
        options: The options of `generate` besides the inputs.
        n: The number of answers.
        limit: The most tokens of an answer; None: as in the model's generation config.
        eos: Ids that end an answer.
        stop: Stop strings.
        does_sample: Whether tokens are sampled.
        seed: The seed of the sampling; None: torch's global generator.
        logprobs: How many of the most likely ids are listed for each id; None: no log-probabilities.
        has_own_limit: Whether the call has set the limit.
        cache: A cache of the prompt's first tokens.
    """

    options: dict[str, Any]
    n: int = 1
    limit: int | None = None
    eos: frozenset[int] = frozenset()
    pad_token_id: int | None = None
    stop: tuple[str, ...] = ()
    does_sample: bool = False
    seed: int | None = None
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logprobs: int | None = None
    has_own_limit: bool = True
    stopping_criteria: tuple[Any, ...] = ()
    logits_processors: tuple[Any, ...] = ()
    cache: Any = field(default=None, repr=False)
    generation_config: Any = field(default=None, repr=False)

    def option(self, name: str, default: Any = None) -> Any:
        """An option of the call, else of the generation config, else `default`."""
        value = self.options.get(name)
        if value is None:
            value = getattr(self.generation_config, name, None)
        return default if value is None else value


def read_settings(
    model: Any,
    config: GenerationDefaults,
    sampling: SamplingParams | Mapping[str, Any] | None,
    stop: str | Sequence[str],
    options: Mapping[str, Any],
) -> GenerationSettings:
    """Check and merge the settings. The first source that sets a value wins: the call, its sampling parameters,
    its `generation_config`, the config with its sampling parameters, the model's generation config.

    Raises:
        ArgumentError: Beam search, several greedy answers, a limit below 1, an option that is ours, two caches.
        TypeError: `sampling` is neither SamplingParams nor a mapping.
    """
    asked = SamplingParams.read(sampling)
    has_own_limit = any(
        limit is not None
        for limit in (asked.max_tokens, options.get("max_new_tokens"), options.get("max_length"))
    )
    sampling = asked.with_defaults(config.sampling_params)
    merged: dict[str, Any] = {**sampling.to_generation_kwargs(), **options}
    given = merged.get("generation_config")
    for name, advice in _REFUSED.items():
        if merged.get(name) is not None or getattr(given, name, None) is not None:
            raise ArgumentError(f"{name} cannot be used here: {advice}")
    base = given or getattr(model, "generation_config", None)
    if (merged.get("num_beams") or getattr(base, "num_beams", None) or 1) > 1:
        raise ArgumentError("num_beams is above 1; beams are revised, so they cannot be streamed: use 1")
    if merged.get("max_new_tokens") is None and merged.get("max_length") is None:
        merged.update(own_limit(given) or {"max_new_tokens": config.max_new_tokens})
    for name in ("max_new_tokens", "max_length"):
        if merged.get(name) is None:
            merged.pop(name, None)
        else:
            _check_positive(name, merged[name])
    limit = merged.get("max_new_tokens")
    n = _first(
        merged.pop("num_return_sequences", None),
        merged.pop("n", None),
        sampling.n,
        # The default of older transformers is 1, not None.
        count if (count := getattr(given, "num_return_sequences", None)) != 1 else None,
        config.answer_count,
    )
    _check_positive("n", n)
    do_sample = bool(_first(merged.get("do_sample"), getattr(base, "do_sample", None), False))
    if n > 1 and not do_sample:
        raise ArgumentError(
            f"n is {n} and decoding is greedy, so all answers would be the same; set a temperature above 0"
        )
    seed = _first(merged.pop("seed", None), sampling.seed)
    logprobs = _first(merged.pop("logprobs", None), sampling.logprobs)
    check_top_count("logprobs", logprobs)
    eos = _first(*(_token_id(source, "eos_token_id") for source in (merged, given, config, base)))
    eos_ids = frozenset(eos if isinstance(eos, (list, tuple, set)) else () if eos is None else (int(eos),))
    pad = _first(*(_token_id(source, "pad_token_id") for source in (merged, given, config, base)))
    if pad is None and eos_ids:
        pad = min(eos_ids)
    given_stop = stop or sampling.stop
    return GenerationSettings(
        n=n,
        limit=limit,
        eos=eos_ids,
        pad_token_id=pad,
        stop=(given_stop,) if isinstance(given_stop, str) else tuple(given_stop),
        does_sample=do_sample,
        seed=seed,
        presence_penalty=sampling.presence_penalty or 0.0,
        frequency_penalty=sampling.frequency_penalty or 0.0,
        logprobs=logprobs,
        has_own_limit=has_own_limit,
        stopping_criteria=tuple(merged.pop("stopping_criteria", None) or ()),
        logits_processors=tuple(merged.pop("logits_processor", None) or ()),
        cache=pop_cache(merged),
        generation_config=base,
        options=merged,
    )


def check_options(model: Any, options: Iterable[str]) -> None:
    """Raise TypeError for options that no one reads. transformers would raise in the worker, after the call.

    A model with a `generate` of its own that takes any keyword is not checked.
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
        raise TypeError(
            f"stream takes no {', '.join(unknown)}; no option of generate or Parser has this name"
        )


def _names(function: Callable[..., Any]) -> list[str]:
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [name for name, item in inspect.signature(function).parameters.items() if item.kind not in kinds]


@functools.cache
def _config_names() -> frozenset[str]:
    from transformers import GenerationConfig

    return frozenset(vars(GenerationConfig()))


def own_limit(generation_config: Any) -> dict[str, int]:
    """The limit of a generation config, as an option of `generate`; {} if there is none."""
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


def _check_positive(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is {value!r}; pass an integer")
    if value < 1:
        raise ArgumentError(f"{name} is {value}; it must be at least 1")

"""`SamplingParams`, which decide how the tokens of a request are chosen, and `GenerationDefaults` for all requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from typing import Any, TypeVar

from unspool.core.records import Record, require_at_least
from unspool.errors import ArgumentError
from unspool.generation.logprobs import MAX_TOP_LOGPROBS

__all__ = ["GENERATE_NAMES", "GenerationDefaults", "SamplingParams", "resolve_token_ids", "same_answers"]

# Maximum number of bad words; each is compared with the text so far at every step.
_MOST_BAD_WORDS = 256


def _parameter(
    is_valid: Callable[[Any], bool],
    words: str,
    default: Any = None,
    *,
    generate: str | None = None,
    shapes: bool = False,
    hash: bool | None = None,
) -> Any:
    """Describe a parameter: everything that the package knows of it, except its documentation.

    Args:
        is_valid: Whether a value, of the right type and not None, is in range.
        words: The valid values, for an error.
        generate: The name of the parameter in transformers' `generate`; None: it has no such parameter.
        shapes: Whether it only has an effect with sampling.
        hash: As in `dataclasses.field`.
    """
    metadata = {"is_valid": is_valid, "words": words, "generate": generate, "shapes": shapes}
    return field(default=default, metadata=metadata, hash=hash)


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingParams(Record):
    """How the tokens of one request are chosen; None means the value of the model's generation config.

    Attributes:
        max_tokens: Maximum number of new token ids, 1 or more.
        min_tokens: Minimum number of new token ids, 0 or more. Until then no id that ends an answer can be chosen; stop
            strings still end it.
        max_reasoning_tokens: Maximum number of token ids in the reasoning, 0 or more. At the limit, the closing marker
            is written for the model, which continues after it.
        temperature: 0 selects the most likely token (greedy); above 0 samples.
        top_p: Sample from the most likely tokens that together have this probability, above 0, at most 1 (off).
        top_k: Sample only from this many of the most likely tokens; 0 is off.
        min_p: Drop tokens below this fraction of the highest probability, 0 (off) to 1.
        presence_penalty: -2 to 2, subtracted from a token's logit if it has been generated; 0 is off.
        frequency_penalty: -2 to 2, subtracted from a token's logit for each time that it has been generated; 0 is off.
        repetition_penalty: Above 0; logits of tokens that are already in the text are divided by it; 1 is off.
        seed: 0 to 2**64 - 1; the same seed produces the same tokens.
        n: Number of answers, 1 or more.
        stop: One or several texts that end the answer; kept as a tuple. None means no text.
        include_stop: Whether the stop string that ends the answer is part of it.
        stop_token_ids: Further ids that end the answer. Their text is part of it, unless they are special.
        ignore_eos: Whether the answer continues after the model's own end ids; not possible with a grammar.
        bad_words: Texts that cannot be written, at the beginning of a word or within one, in the tokens to which the
            tokenizer encodes them; at most 256.
        allowed_token_ids: The only ids that can be chosen, 1 or more; must include the end ids.
        logit_bias: Values from -100 to 100 by token id, added to the logits.
        skip_special_tokens: False: special tokens are part of the text. None: the setting of the `StreamGenerator`.
        logprobs: Report the log-probability of each token, and of this many of the most likely tokens at its
            position, 0 to 20. They come from the model's own scores, before temperature, penalties and processors.
            None: report none.

    Raises:
        TypeError: A value is of the wrong type.
        ArgumentError: A value is out of its range.
    """

    max_tokens: int | None = _parameter(lambda value: value >= 1, "1 or more", generate="max_new_tokens")
    min_tokens: int | None = _parameter(lambda value: value >= 0, "0 or more", generate="min_new_tokens")
    max_reasoning_tokens: int | None = _parameter(lambda value: value >= 0, "0 or more")
    temperature: float | None = _parameter(lambda value: value >= 0, "0 or more", generate="temperature")
    top_p: float | None = _parameter(
        lambda value: 0 < value <= 1, "a number above 0, at most 1 (off)", generate="top_p", shapes=True
    )
    top_k: int | None = _parameter(lambda value: value >= 0, "0 or more", generate="top_k", shapes=True)
    min_p: float | None = _parameter(
        lambda value: 0 <= value <= 1, "a number from 0 (off) to 1", generate="min_p", shapes=True
    )
    presence_penalty: float | None = _parameter(lambda value: -2 <= value <= 2, "a number from -2 to 2")
    frequency_penalty: float | None = _parameter(lambda value: -2 <= value <= 2, "a number from -2 to 2")
    repetition_penalty: float | None = _parameter(
        lambda value: value > 0, "a number above 0; 1 is off", generate="repetition_penalty"
    )
    seed: int | None = _parameter(lambda value: 0 <= value < 2**64, "0 to 2**64 - 1")
    n: int | None = _parameter(lambda value: value >= 1, "1 or more")
    stop: Sequence[str] = _parameter(all, "texts that are not empty: an empty one would stop at once", ())
    include_stop: bool | None = None
    stop_token_ids: Sequence[int] = _parameter(
        lambda value: all(id >= 0 for id in value), "token ids, 0 or more", ()
    )
    ignore_eos: bool | None = None
    bad_words: Sequence[str] = _parameter(
        lambda value: len(value) <= _MOST_BAD_WORDS and all(map(str.strip, value)),
        f"at most {_MOST_BAD_WORDS} texts with more than white space",
        (),
    )
    allowed_token_ids: Sequence[int] | None = _parameter(
        lambda value: len(value) > 0 and all(id >= 0 for id in value), "one token id or more, each 0 or more"
    )
    logit_bias: Mapping[int, float] | None = _parameter(
        lambda value: all(id >= 0 and -100 <= bias <= 100 for id, bias in value.items()),
        "token ids with numbers from -100 to 100",
        hash=False,
    )
    skip_special_tokens: bool | None = None
    logprobs: int | None = _parameter(
        lambda value: 0 <= value <= MAX_TOP_LOGPROBS,
        f"0 to {MAX_TOP_LOGPROBS}, how many of the most likely tokens to list",
    )

    def _read_field(self, field: Field[Any], value: Any) -> Any:
        if field.name == "stop" and (value is None or isinstance(value, str)):
            value = () if value is None else (value,)
        value = Record._read_field(self, field, value)
        said = field.metadata
        if value is not None and said and not said["is_valid"](value):
            raise ArgumentError(f"{field.name} is {value}; pass {said['words']}")
        return value

    @classmethod
    def read(cls, value: SamplingParams | Mapping[str, Any] | None) -> SamplingParams:
        """Read a caller's parameters: None, a `SamplingParams`, or a mapping of its fields.

        Raises:
            TypeError: `value` has another type.
            ArgumentError: A key is unknown, or a value is out of its range.
        """
        if value is None:
            return cls()
        if isinstance(value, SamplingParams):
            return value
        if isinstance(value, Mapping):
            return cls.from_dict(value)
        kind = type(value).__name__
        raise TypeError(f"sampling_params is of type {kind}; pass SamplingParams, a mapping or None")

    def with_defaults(self, defaults: SamplingParams | None) -> SamplingParams:
        """Return these parameters with unset ones (None, or no stop) taken from `defaults`."""
        if defaults is None:
            return self
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return defaults.replace(**{name: value for name, value in values.items() if value not in (None, ())})

    def to_generation_kwargs(self) -> dict[str, Any]:
        """Return the keyword arguments of transformers' `generate` for the parameters that are set.

        Of these, `generate` calls `max_tokens` and `min_tokens` by other names, and `do_sample` is whether the temperature
        is above 0. At temperature 0 there is no option of sampling. Parameters for which `generate` has no arguments are
        left out.
        """
        values = {own: getattr(self, name) for name, own in GENERATE_NAMES.items()}
        if self.temperature is not None:
            values["do_sample"] = self.temperature > 0
        if self.temperature == 0:
            values.update(dict.fromkeys(("temperature", *_SHAPING)))
        return {name: value for name, value in values.items() if value is not None}


_PARAMETERS = [item for item in fields(SamplingParams) if item.metadata]

#: Parameters that transformers' `generate` also has, with its names.
GENERATE_NAMES: dict[str, str] = {
    item.name: item.metadata["generate"] for item in _PARAMETERS if item.metadata["generate"]
}
# Options of `generate` that only have an effect with sampling.
_SHAPING = [item.metadata["generate"] for item in _PARAMETERS if item.metadata["shapes"]]


def same_answers(count: int) -> ArgumentError:
    """Return the error for several answers without sampling."""
    return ArgumentError(
        f"n is {count} and decoding is greedy, so all answers would be the same; set a temperature above 0"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationDefaults(Record):
    """Limits and token ids of a `StreamGenerator`; each request may override them.

    Attributes:
        max_new_tokens: Maximum number of tokens in an answer if the request sets no limit.
        pad_token_id, bos_token_id, eos_token_id: Token ids; None is filled in by `resolve_token_ids`.
            Any of several `eos_token_id` ends an answer; a list is kept as a tuple.
        sampling_params: The defaults of every request: `SamplingParams` or a mapping of its fields.

    Raises:
        TypeError: A value is of the wrong type. A bool or a float is not a count.
        ArgumentError: A count is below 1, a token id is below 0, or a list is empty.
    """

    max_new_tokens: int = 64
    pad_token_id: int | None = None
    bos_token_id: int | None = None
    eos_token_id: int | Sequence[int] | None = None
    sampling_params: SamplingParams | None = None

    def _check(self) -> None:
        require_at_least("max_new_tokens", self.max_new_tokens, 1)
        ids = {"pad_token_id": self.pad_token_id, "bos_token_id": self.bos_token_id}
        eos = self.eos_token_id
        if eos == ():
            raise ArgumentError("eos_token_id is empty; pass a token id, or None for the model's own")
        if isinstance(eos, Sequence):
            ids |= {f"eos_token_id[{index}]": token_id for index, token_id in enumerate(eos)}
        else:
            ids["eos_token_id"] = eos
        for name, token_id in ids.items():
            require_at_least(name, token_id, 0)

    @property
    def answer_count(self) -> int:
        """The number of answers if a request does not set `n`."""
        return 1


D = TypeVar("D", bound=GenerationDefaults)


def resolve_token_ids(config: D, model: Any, tokenizer: Any) -> D:
    """Fill in the token ids that the config leaves open.

    Each one is the config's own, else that of `model.generation_config`, else the tokenizer's. A missing pad token
    id becomes the first eos token id. A bos token id may stay None. Ids below 0 do not count, since some models use
    them for "none".

    Args:
        model: Any object, with or without a `generation_config`.
        tokenizer: A tokenizer, or a processor with a `tokenizer`.

    Raises:
        ArgumentError: None of them has an eos token id.
        TypeError: The model's or the tokenizer's ids are not integers.
    """
    if not hasattr(tokenizer, "eos_token_id"):
        tokenizer = getattr(tokenizer, "tokenizer", tokenizer)
    own = getattr(model, "generation_config", None)
    sources = {"config": config, "model.generation_config": own, "tokenizer": tokenizer}

    def first(key: str) -> int | tuple[int, ...] | None:
        candidates = (
            _token_ids(f"{name}.{key}", getattr(source, key, None)) for name, source in sources.items()
        )
        return next((ids for ids in candidates if ids is not None), None)

    eos = first("eos_token_id")
    if eos is None:
        raise ArgumentError(
            "no token ends an answer: the config, model.generation_config and the tokenizer have no"
            f" eos_token_id; pass {type(config).__name__}(eos_token_id=...)"
        )
    pad = first("pad_token_id")
    return config.replace(
        pad_token_id=_first_id(eos if pad is None else pad),
        bos_token_id=_first_id(first("bos_token_id")),
        eos_token_id=eos,
    )


def _token_ids(key: str, value: Any) -> int | tuple[int, ...] | None:
    """Read ids in the forms of models and tokenizers: None, an int, a list of ints, or a tensor."""
    value = value.tolist() if hasattr(value, "tolist") else value
    ids = list(value) if isinstance(value, (list, tuple)) else [value]
    for token_id in ids:
        if token_id is not None and (not isinstance(token_id, int) or isinstance(token_id, bool)):
            raise TypeError(f"{key} is {value!r}; make it an int or a list of ints")
    ids = [token_id for token_id in ids if token_id is not None and token_id >= 0]
    is_list = isinstance(value, (list, tuple))
    return (tuple(ids) if is_list else ids[0]) if ids else None


def _first_id(ids: int | tuple[int, ...] | None) -> int | None:
    return ids[0] if isinstance(ids, tuple) else ids

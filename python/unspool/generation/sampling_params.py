"""`SamplingParams`: how the tokens of one request are chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from unspool.core.records import Record, require_at_least
from unspool.errors import ArgumentError
from unspool.generation.logprobs import check_top_count

__all__ = ["SamplingParams"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingParams(Record):
    """How the tokens of one request are chosen; None means the value of the model's generation config.

    Attributes:
        max_tokens: The most new token ids, 1 or more.
        temperature: 0 selects the most likely token (greedy); above 0 samples.
        top_p: Sample from the most likely tokens that together have this probability, above 0, at most 1 (off).
        top_k: Sample from this many of the most likely tokens; 0 is off.
        min_p: Drop tokens below this fraction of the highest probability, 0 (off) to 1.
        presence_penalty: -2 to 2, subtracted from a token's logit after it was generated; 0 is off.
        frequency_penalty: -2 to 2, subtracted once for each time that it was generated; 0 is off.
        repetition_penalty: Above 0; logits of tokens that are already in the text are divided by it; 1 is off.
        seed: 0 to 2**64 - 1; the same seed gives the same tokens.
        n: How many answers, 1 or more.
        stop: A text or several that end the answer; kept as a tuple. None means no text.
        logprobs: Report the log-probability of each token, and of this many of the most likely tokens at its
            position, 0 to 20. They are of the model's own scores, before temperature, penalties and processors.
            None: report none.

    Raises:
        TypeError: A value is of the wrong type.
        ArgumentError: A value is out of its range.
    """

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    repetition_penalty: float | None = None
    seed: int | None = None
    n: int | None = None
    stop: Sequence[str] = ()
    logprobs: int | None = None

    def __post_init__(self) -> None:
        if self.stop is None or isinstance(self.stop, str):
            object.__setattr__(self, "stop", () if self.stop is None else (self.stop,))
        Record.__post_init__(self)

    def _check(self) -> None:
        require_at_least("max_tokens", self.max_tokens, 1)
        require_at_least("temperature", self.temperature, 0)
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ArgumentError(f"top_p is {self.top_p}; pass a number above 0, at most 1 (off)")
        require_at_least("top_k", self.top_k, 0)
        if self.min_p is not None and not 0 <= self.min_p <= 1:
            raise ArgumentError(f"min_p is {self.min_p}; pass a number from 0 (off) to 1")
        for key in ("presence_penalty", "frequency_penalty"):
            penalty = getattr(self, key)
            if penalty is not None and not -2 <= penalty <= 2:
                raise ArgumentError(f"{key} is {penalty}; pass a number from -2 to 2")
        if self.repetition_penalty is not None and self.repetition_penalty <= 0:
            raise ArgumentError(
                f"repetition_penalty is {self.repetition_penalty}; pass a number above 0, 1 is off"
            )
        if self.seed is not None and not 0 <= self.seed < 2**64:
            raise ArgumentError(f"seed is {self.seed}; pass 0 to 2**64 - 1")
        require_at_least("n", self.n, 1)
        check_top_count("logprobs", self.logprobs)
        for index, text in enumerate(self.stop):
            if not text:
                raise ArgumentError(f"stop[{index}] is empty and would stop at once; leave it out")

    @classmethod
    def read(cls, value: SamplingParams | Mapping[str, Any] | None) -> SamplingParams:
        """Read the parameters of a caller: None, a `SamplingParams`, or a mapping of its fields.

        Raises:
            TypeError: Another type.
            ArgumentError: A mapping with an unknown key, or a value out of its range.
        """
        if value is None:
            return cls()
        if isinstance(value, SamplingParams):
            return value
        if isinstance(value, Mapping):
            return cls.from_dict(value)
        raise TypeError(
            f"sampling_params is of type {type(value).__name__}; pass SamplingParams, a mapping or None"
        )

    def with_defaults(self, defaults: SamplingParams | None) -> SamplingParams:
        """These parameters, with those that are not set (None; no stop) taken from `defaults`."""
        if defaults is None:
            return self
        return defaults.replace(
            **{
                field.name: getattr(self, field.name)
                for field in fields(self)
                if getattr(self, field.name) not in (None, ())
            }
        )

    def to_generation_kwargs(self) -> dict[str, Any]:
        """The keyword arguments of transformers' `generate` for the parameters that are set.

        These are `max_new_tokens`, `do_sample`, `temperature`, `top_p`, `top_k`, `min_p` and
        `repetition_penalty`. At temperature 0 it has `do_sample=False` and no option of sampling. It leaves out
        presence_penalty, frequency_penalty, seed, n, stop and logprobs, which `generate` has no argument for.
        """
        kwargs: dict[str, Any] = {
            "max_new_tokens": self.max_tokens,
            "repetition_penalty": self.repetition_penalty,
        }
        if self.temperature == 0:
            kwargs["do_sample"] = False
        else:
            if self.temperature is not None:
                kwargs.update(do_sample=True, temperature=self.temperature)
            kwargs.update(top_p=self.top_p, top_k=self.top_k, min_p=self.min_p)
        return {key: value for key, value in kwargs.items() if value is not None}

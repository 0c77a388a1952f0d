"""`PrefillScope`: oLLM's record of a prefill, which `to_dict` and `from_dict` preserve exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from unspool.errors import ArgumentError
from unspool.generation.prefill import PrefillReport, StrategyId

__all__ = [
    "ATTENTION_MASK_MODE",
    "EXECUTION_BOUNDARY",
    "GapId",
    "PrefillGap",
    "PrefillScope",
    "Recommendation",
    "gap_inventory",
]

GapId = Literal[
    "prompt-tokenization-before-prefill",
    "full-attention-mask-before-prefill",
    "seq2seq-source-prefill",
]
Recommendation = Literal["implement", "defer", "reject"]

_STRATEGY_IDS = get_args(StrategyId)
EXECUTION_BOUNDARY = "streamed-prompt-preparation"
ATTENTION_MASK_MODE = "lazy-prefix-synthesis"


def _check_keys(record: type, value: Any) -> None:
    if not isinstance(value, Mapping):
        raise TypeError(f"a {record.__name__} is read from a mapping, not from a {type(value).__name__}")
    names = [entry.name for entry in fields(record)]
    for key in value:
        if key not in names:
            raise ArgumentError(f"{record.__name__} has no key {key!r}; it has {', '.join(names)}")
    for name in names:
        if name not in value:
            raise ArgumentError(f"{record.__name__} needs the key {name!r}")


def _check_type(name: str, value: Any, expected: type) -> None:
    if not isinstance(value, expected):
        raise TypeError(f"{name} is a {type(value).__name__}; it must be a {expected.__name__}")


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ArgumentError(f"{name} is {value!r}; use one of {', '.join(map(repr, choices))}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefillGap:
    """One requirement of chunked prefill, and its state.

    Raises:
        TypeError: A field is not a string.
        ArgumentError: An unknown gap or recommendation.
    """

    gap_id: GapId
    current_behavior: str
    recommendation: Recommendation
    rationale: str

    def __post_init__(self) -> None:
        for entry in fields(self):
            _check_type(entry.name, getattr(self, entry.name), str)
        _check_choice("gap_id", self.gap_id, get_args(GapId))
        _check_choice("recommendation", self.recommendation, get_args(Recommendation))

    def to_dict(self) -> dict[str, str]:
        """The fields by name, as JSON has them."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> PrefillGap:
        """The inverse of `to_dict`; a missing or unknown key raises an ArgumentError that names it."""
        _check_keys(cls, value)
        return cls(**value)


_GAPS = (
    PrefillGap(
        gap_id="prompt-tokenization-before-prefill",
        current_behavior="text is tokenized in pieces; a chunk runs as soon as more ids than it holds wait",
        recommendation="implement",
        rationale="the whole prompt never exists as a list, and the model starts before the last piece",
    ),
    PrefillGap(
        gap_id="full-attention-mask-before-prefill",
        current_behavior="a mask of the prefix is made for each forward, the full one for the hand-off",
        recommendation="implement",
        rationale="a mask of ones needs no more than a length, which is known when the forward runs",
    ),
    PrefillGap(
        gap_id="seq2seq-source-prefill",
        current_behavior="the source is tokenized in pieces; the encoder then runs once over all of it",
        recommendation="implement",
        rationale="an encoder sees both ways, so its forward cannot be cut; its tokenization can",
    ),
)


def gap_inventory() -> tuple[PrefillGap, ...]:
    """The three gaps that chunked prefill closes, in a fixed order."""
    return _GAPS


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefillScope:
    """Which lane a prompt took, and whether it ran in chunks.

    Args:
        strategy_id: The lane; None if there is none.
        runtime_eligible: The model can run a prompt in chunks, as far as its config shows.
        applied: At least one chunk ran on its own (seq2seq: the source is longer than a chunk).
        activation_reason: Why it was applied, or why not.
        execution_boundary: What is streamed; "" without a lane.
        attention_mask_mode: How masks are made; "" without a lane.
        gap_inventory: See `gap_inventory()`.

    Raises:
        TypeError: A field of another type.
        ArgumentError: A field does not accept its value.
    """

    strategy_id: StrategyId | None
    runtime_eligible: bool
    applied: bool
    activation_reason: str
    execution_boundary: str
    attention_mask_mode: str
    gap_inventory: tuple[PrefillGap, ...] = field(default=_GAPS)

    def __post_init__(self) -> None:
        if self.strategy_id is not None:
            _check_type("strategy_id", self.strategy_id, str)
            _check_choice("strategy_id", self.strategy_id, _STRATEGY_IDS)
        _check_type("runtime_eligible", self.runtime_eligible, bool)
        _check_type("applied", self.applied, bool)
        _check_type("activation_reason", self.activation_reason, str)
        has_lane = self.strategy_id is not None
        for name, text in (
            ("execution_boundary", EXECUTION_BOUNDARY),
            ("attention_mask_mode", ATTENTION_MASK_MODE),
        ):
            _check_type(name, getattr(self, name), str)
            _check_choice(name, getattr(self, name), (text if has_lane else "",))
        if self.applied and not self.runtime_eligible:
            raise ArgumentError(
                "applied is True but runtime_eligible is False; pass runtime_eligible=True, or applied=False"
            )
        _check_type("gap_inventory", self.gap_inventory, tuple)
        for gap in self.gap_inventory:
            _check_type("gap_inventory", gap, PrefillGap)

    @classmethod
    def of(
        cls, strategy_id: StrategyId | None, *, eligible: bool, applied: bool, reason: str
    ) -> PrefillScope:
        """A scope with the boundary and the mask mode of its lane."""
        return cls(
            strategy_id=strategy_id,
            runtime_eligible=eligible,
            applied=applied,
            activation_reason=reason,
            execution_boundary=EXECUTION_BOUNDARY if strategy_id else "",
            attention_mask_mode=ATTENTION_MASK_MODE if strategy_id else "",
        )

    @classmethod
    def from_report(cls, report: PrefillReport) -> PrefillScope:
        """The scope of `StreamResult.prefill`."""
        return cls.of(
            report.strategy_id,
            eligible=report.runtime_eligible,
            applied=report.applied,
            reason=report.activation_reason,
        )

    def to_dict(self) -> dict[str, Any]:
        """The fields by name, as JSON has them: `gap_inventory` is a list of dicts."""
        record = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        record["gap_inventory"] = [gap.to_dict() for gap in self.gap_inventory]
        return record

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> PrefillScope:
        """The inverse of `to_dict`.

        Raises:
            TypeError: A value of another type; the message names its key.
            ArgumentError: A key is missing or unknown, or a field does not accept its value.
        """
        _check_keys(cls, value)
        gaps = value["gap_inventory"]
        if not isinstance(gaps, (list, tuple)):
            raise TypeError(f"gap_inventory is a {type(gaps).__name__}; it must be a list")
        return cls(**{**value, "gap_inventory": tuple(PrefillGap.from_dict(gap) for gap in gaps)})

    def metadata(self) -> dict[str, str]:
        """Six strings for a result's metadata; those of the lane are empty without one."""
        report = PrefillReport(self.strategy_id, self.runtime_eligible, self.applied, self.activation_reason)
        return report.metadata()

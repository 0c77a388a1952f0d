"""oLLM's interfaces: the record of a prefill, and callbacks or events instead of iteration."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, Protocol, TypeVar, get_args

from unspool.core.records import Record
from unspool.errors import ArgumentError
from unspool.generation import DeltaStream, StreamResult
from unspool.generation.prefill import PrefillReport, StrategyId

__all__ = ["PrefillGap", "PrefillScope", "StreamSink", "gap_inventory", "send_to_sink", "status_events"]

GapId = Literal[
    "prompt-tokenization-before-prefill", "full-attention-mask-before-prefill", "seq2seq-source-prefill"
]
Recommendation = Literal["implement", "defer", "reject"]

R = TypeVar("R", bound=Record)


def _check_choice(name: str, value: Any, choices: Sequence[Any]) -> None:
    if value not in choices:
        raise ArgumentError(f"{name} is {value!r}; use one of {', '.join(map(repr, choices))}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _ExactRecord(Record):
    """A record whose `from_dict` requires every key."""

    @classmethod
    def from_dict(cls: type[R], mapping: Mapping[str, Any]) -> R:
        """Build a record from the result of `to_dict`.

        Raises:
            TypeError: A value has the wrong type; the message names its key.
            ArgumentError: A key is missing or unknown, or a field does not accept its value.
        """
        names = [field.name for field in fields(cls)]
        missing = [name for name in names if isinstance(mapping, Mapping) and name not in mapping]
        if missing:
            raise ArgumentError(f"{cls.__name__} needs the key {missing[0]!r}")
        return super(_ExactRecord, cls).from_dict(mapping)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefillGap(_ExactRecord):
    """One requirement of chunked prefill, and its state.

    Raises:
        TypeError: A field is not a string.
        ArgumentError: A gap or recommendation is unknown.
    """

    gap_id: str
    current_behavior: str
    recommendation: str
    rationale: str

    def _check(self) -> None:
        _check_choice("gap_id", self.gap_id, get_args(GapId))
        _check_choice("recommendation", self.recommendation, get_args(Recommendation))


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
class PrefillScope(_ExactRecord):
    """The lane of a prompt, and whether the prompt ran in chunks; `to_dict` and `from_dict` preserve it exactly.

    Args:
        strategy_id: The lane; None if there is none.
        runtime_eligible: Whether the model can run a prompt in chunks, as far as its config shows.
        applied: Whether at least one chunk ran on its own (seq2seq: whether the source is longer than a chunk).
        activation_reason: Why chunks were or were not applied.
        execution_boundary: The part that is streamed; "" without a lane.
        attention_mask_mode: The way in which masks are made; "" without a lane.
        gap_inventory: See `gap_inventory()`.

    Raises:
        TypeError: A field has the wrong type.
        ArgumentError: A field does not accept its value.
    """

    strategy_id: str | None
    runtime_eligible: bool
    applied: bool
    activation_reason: str
    execution_boundary: str
    attention_mask_mode: str
    gap_inventory: Sequence[PrefillGap] = _GAPS

    def _check(self) -> None:
        _check_choice("strategy_id", self.strategy_id, (None, *get_args(StrategyId)))
        for name, text in self._report().execution().items():
            _check_choice(name, getattr(self, name), (text,))
        if self.applied and not self.runtime_eligible:
            raise ArgumentError(
                "applied is True but runtime_eligible is False; pass runtime_eligible=True, or applied=False"
            )

    @classmethod
    def of(
        cls, strategy_id: StrategyId | None, *, eligible: bool, applied: bool, reason: str
    ) -> PrefillScope:
        """Build a scope with the boundary and the mask mode of its lane."""
        return cls.from_report(PrefillReport(strategy_id, eligible, applied, reason))

    @classmethod
    def from_report(cls, report: PrefillReport) -> PrefillScope:
        """Build a scope from `StreamResult.prefill`."""
        values: Any = {field.name: getattr(report, field.name) for field in fields(report)}
        return cls(**{**values, **report.execution()})

    def metadata(self) -> dict[str, str]:
        """Return six strings for a result's metadata; without a lane, its strings are empty."""
        return self._report().metadata()

    def _report(self) -> PrefillReport:
        names: Any = [field.name for field in fields(PrefillReport)]
        return PrefillReport(*(getattr(self, name) for name in names))


class StreamSink(Protocol):
    """Receives a stream: its status, then its texts, then the result."""

    def on_status(self, message: str) -> None:
        """Receive the name of the step that begins."""

    def on_text(self, text: str) -> None:
        """Receive a part of the answer's text, which is never empty."""

    def on_complete(self, result: StreamResult) -> None:
        """Receive the result. Not called if the model fails; its exception is then raised."""


def send_to_sink(stream: DeltaStream, sink: StreamSink) -> StreamResult:
    """Pass a stream to a sink. An exception of the model is raised here."""
    sink.on_status("generating")
    for text in stream.text():
        sink.on_text(text)
    result = stream.result
    sink.on_complete(result)
    return result


def status_events(stream: DeltaStream) -> Iterator[str]:
    """Yield a stream as server-sent events: `status`, then `text`, then either `complete` or `error`."""
    yield _event("status", {"message": "generating"})
    try:
        for text in stream.text():
            yield _event("text", {"text": text})
    except Exception as error:
        yield _event("error", {"message": str(error), "type": type(error).__name__})
        return
    result = stream.result
    yield _event(
        "complete",
        {"text": result.text, "finish_reason": result.finish_reason, "metadata": dict(result.metadata)},
    )


def _event(name: str, data: dict[str, object]) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"

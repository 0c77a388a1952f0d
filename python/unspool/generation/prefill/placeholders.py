"""Finds the places where a multimodal prompt may be cut.

Static inputs (pixels, audio features) belong to runs of placeholder tokens, which the model replaces with features.
They are passed once, to the forward that has all of their tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

__all__ = ["Chunk", "Unit", "find_units", "placeholder_ids", "plan_chunks"]

_PLACEHOLDER_NAMES = tuple(
    f"{kind}_token_{ending}" for kind in ("image", "video", "audio") for ending in ("id", "index")
)


@dataclass(frozen=True, slots=True)
class Unit:
    """Tokens [begin, end) that must be in one forward, with the inputs that belong to them."""

    begin: int
    end: int
    static_inputs: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Tokens [begin, end) of one forward, and the static inputs that go with them."""

    begin: int
    end: int
    static_inputs: dict[str, Any] = field(default_factory=dict)


def placeholder_ids(model: Any) -> frozenset[int]:
    """Read from a model's config the ids that it replaces with features of images, videos or audio."""
    config = getattr(model, "config", None)
    parts = (config, getattr(config, "thinker_config", None))
    ids = (getattr(part, name, None) for part in parts for name in _PLACEHOLDER_NAMES)
    return frozenset(id for id in ids if isinstance(id, int) and not isinstance(id, bool))


def find_units(
    input_ids: torch.Tensor, placeholders: frozenset[int], static_inputs: Mapping[str, Any]
) -> list[Unit] | None:
    """Return the units that must not be cut, in the order of the prompt; None if there is no placeholder.

    If there are as many runs as rows, and all runs have the same length, each run of a placeholder id is a unit with
    its own rows of every static tensor. Otherwise all tokens from the first to the last placeholder are one unit with
    all tensors.
    """
    runs = _runs(input_ids[0].tolist(), placeholders)
    if not runs:
        return None
    lengths = {end - begin for begin, end in runs}
    rows = {_row_count(value) for value in static_inputs.values()}
    if len(lengths) == 1 and rows == {len(runs)}:
        return [
            Unit(begin, end, {name: value[row : row + 1] for name, value in static_inputs.items()})
            for row, (begin, end) in enumerate(runs)
        ]
    return [Unit(runs[0][0], runs[-1][1], dict(static_inputs))]


def _runs(ids: Sequence[int], placeholders: frozenset[int]) -> list[tuple[int, int]]:
    runs, end = [], 0
    for id, run in groupby(ids):
        begin, end = end, end + sum(1 for _ in run)
        if id in placeholders:
            runs.append((begin, end))
    return runs


def _row_count(value: Any) -> int | None:
    """Return the first dimension of a tensor; None for other values."""
    shape = tuple(getattr(value, "shape", ()))
    return int(shape[0]) if shape else None


def plan_chunks(length: int, units: Sequence[Unit], chunk_tokens: int, *, begin: int = 0) -> list[Chunk]:
    """Cut tokens [begin, length) into chunks of at most `chunk_tokens`, without cutting a unit.

    A boundary inside a unit moves to its beginning; a unit longer than a chunk is a chunk of its own.
    """
    chunks = []
    while begin < length:
        end = min(begin + chunk_tokens, length)
        for unit in units:
            if unit.begin < end < unit.end:
                end = unit.begin if unit.begin > begin else unit.end
        inside = [unit.static_inputs for unit in units if begin <= unit.begin and unit.end <= end]
        chunks.append(Chunk(begin, end, join_static_inputs(inside)))
        begin = end
    return chunks


def join_static_inputs(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Concatenate the rows of several units."""
    if len(parts) < 2:
        return dict(parts[0]) if parts else {}
    import torch

    return {name: torch.cat([torch.as_tensor(part[name]) for part in parts], dim=0) for name in parts[0]}

"""Finds where a multimodal prompt may be cut.

A processor's output has two kinds of entries besides the ids. Some have one value per token and are sliced
with the chunk. The others (pixels, audio features) belong to runs of placeholder tokens, which the model
replaces by features. They are passed once, to the forward that has all of these tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from unspool.errors import ArgumentError, PrefillError

if TYPE_CHECKING:
    import torch

__all__ = [
    "Chunk",
    "PromptInputs",
    "Unit",
    "find_units",
    "placeholder_ids",
    "plan_chunks",
    "split_inputs",
]

_PLACEHOLDER_NAMES = tuple(
    f"{kind}_token_{ending}" for kind in ("image", "video", "audio") for ending in ("id", "index")
)

# Prefixes of features' names; such an entry is static even if it is as long as the prompt.
_FEATURE_PREFIXES = ("pixel", "image", "video", "audio", "input_feature", "feature", "input_values")


@dataclass(frozen=True, slots=True)
class PromptInputs:
    """A processor's output, split.

    Attributes:
        input_ids: Shape (1, length), int64.
        token_inputs: One value per token, each of shape (1, length).
        static_inputs: Everything else: features, grids, sizes.
        padding_mask: The attention mask, only if it hides a token; shape (1, length).
    """

    input_ids: torch.Tensor
    token_inputs: dict[str, torch.Tensor]
    static_inputs: dict[str, Any]
    padding_mask: torch.Tensor | None = None


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


def split_inputs(inputs: Any, device: Any = None) -> PromptInputs:
    """Split a processor's output, and move it to a device if possible.

    Args:
        inputs: A mapping with `input_ids` of shape (1, length) or (length,).
        device: The model's device; None: do not move anything.

    Raises:
        PrefillError: No mapping, or one without `input_ids`.
        ArgumentError: More than one row.
    """
    import torch

    if device is not None and callable(getattr(inputs, "to", None)):
        inputs = inputs.to(device)
    if not isinstance(inputs, Mapping):
        raise PrefillError(
            f"the processor returned a {type(inputs).__name__}; it must return a mapping of inputs"
        )
    if inputs.get("input_ids") is None:
        raise PrefillError("the processor returned no input_ids; it must also tokenize the text")
    ids = torch.as_tensor(inputs["input_ids"], device=device)
    if ids.ndim == 1:
        ids = ids.reshape(1, -1)
    if ids.ndim != 2 or ids.shape[0] != 1:
        raise ArgumentError(f"input_ids have shape {tuple(ids.shape)}; a stream has one row")
    token_inputs: dict[str, torch.Tensor] = {}
    static_inputs: dict[str, Any] = {}
    padding_mask = None
    for name, given in inputs.items():
        if name == "input_ids" or given is None:
            continue
        value = torch.as_tensor(given, device=device) if hasattr(given, "__array__") else given
        if name == "attention_mask":
            mask = torch.as_tensor(value, device=ids.device).reshape(ids.shape)
            padding_mask = None if bool(mask.all()) else mask
        elif _is_per_token(name, value, ids.shape[1]):
            token_inputs[name] = torch.as_tensor(value, device=ids.device)
        else:
            static_inputs[name] = value
    return PromptInputs(ids.long(), token_inputs, static_inputs, padding_mask)


def _is_per_token(name: str, value: Any, length: int) -> bool:
    if isinstance(value, (list, tuple)) and len(value) == 1 and isinstance(value[0], (list, tuple)):
        shape = (1, len(value[0]))
    else:
        shape = tuple(getattr(value, "shape", ()))
    return shape == (1, length) and not name.startswith(_FEATURE_PREFIXES)


def placeholder_ids(model: Any) -> frozenset[int]:
    """The ids that a model replaces by features of images, videos or audio, from its config."""
    config = getattr(model, "config", None)
    parts = (config, getattr(config, "thinker_config", None))
    ids = (getattr(part, name, None) for part in parts for name in _PLACEHOLDER_NAMES)
    return frozenset(id for id in ids if isinstance(id, int) and not isinstance(id, bool))


def find_units(
    input_ids: torch.Tensor, placeholders: frozenset[int], static_inputs: Mapping[str, Any]
) -> list[Unit] | None:
    """The units that must not be cut, in the order of the prompt; None if there is no placeholder.

    If there are as many runs as rows, and all runs have one length, each run of a placeholder id is a unit with
    its own rows of every static tensor. If not, all placeholders, from the first to the last, are one unit
    with all tensors.
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
    runs = []
    begin = 0
    for id, run in groupby(ids):
        end = begin + sum(1 for _ in run)
        if id in placeholders:
            runs.append((begin, end))
        begin = end
    return runs


def _row_count(value: Any) -> int | None:
    """The first dimension of a tensor; None for other values."""
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
    """The rows of several units, concatenated."""
    if len(parts) < 2:
        return dict(parts[0]) if parts else {}
    import torch

    return {name: torch.cat([torch.as_tensor(part[name]) for part in parts], dim=0) for name in parts[0]}

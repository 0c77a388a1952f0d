"""Splits a processor's output into inputs that belong to tokens and other inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unspool.errors import ArgumentError, PrefillError

if TYPE_CHECKING:
    import torch

__all__ = ["PromptInputs", "as_inputs", "as_row", "split_inputs"]

# Prefixes of features' names. Such an entry is static even if it is as long as the prompt.
_FEATURE_PREFIXES = ("pixel", "image", "video", "audio", "input_feature", "feature", "input_values")


@dataclass(frozen=True, slots=True)
class PromptInputs:
    """The parts of a processor's output.

    Attributes:
        input_ids: The ids, of shape (1, length), int64.
        token_inputs: Inputs with one value per token, each of shape (1, length).
        static_inputs: All other inputs: features, grids, sizes.
        padding_mask: The attention mask, only if it hides a token; shape (1, length).
    """

    input_ids: torch.Tensor
    token_inputs: dict[str, torch.Tensor]
    static_inputs: dict[str, Any]
    padding_mask: torch.Tensor | None = None


def split_inputs(inputs: Any, device: Any = None) -> PromptInputs:
    """Split a processor's output, and move it to a device if possible.

    Args:
        inputs: A mapping with `input_ids` of shape (1, length) or (length,).
        device: The model's device; None: do not move anything.

    Raises:
        PrefillError: `inputs` is not a mapping, or has no `input_ids`.
        ArgumentError: There is more than one row.
    """
    import torch

    entries = as_inputs(inputs, device, "the processor")
    ids = as_row(entries.pop("input_ids", None), device)
    token_inputs: dict[str, torch.Tensor] = {}
    static_inputs: dict[str, Any] = {}
    padding_mask = None
    for name, entry in entries.items():
        if entry is None:
            continue
        value = torch.as_tensor(entry, device=device) if hasattr(entry, "__array__") else entry
        if name == "attention_mask":
            mask = torch.as_tensor(value, device=ids.device).reshape(ids.shape)
            padding_mask = None if bool(mask.all()) else mask
        elif _is_per_token(name, value, ids.shape[1]):
            token_inputs[name] = torch.as_tensor(value, device=ids.device)
        else:
            static_inputs[name] = value
    return PromptInputs(ids.long(), token_inputs, static_inputs, padding_mask)


def as_inputs(value: Any, device: Any, maker: str) -> dict[str, Any]:
    """Return a mapping's entries, with its tensors moved to the device.

    Args:
        maker: The function that returned the value, named in the error.

    Raises:
        PrefillError: The value is not a mapping.
    """
    if device is not None and callable(getattr(value, "to", None)):
        value = value.to(device)
    if not isinstance(value, Mapping):
        raise PrefillError(f"{maker} returned a {type(value).__name__}; it must return a mapping of inputs")
    return {
        name: entry.to(device) if device is not None and callable(getattr(entry, "to", None)) else entry
        for name, entry in value.items()
    }


def as_row(ids: Any, device: Any) -> torch.Tensor:
    """Return ids as a tensor of shape (1, length).

    Raises:
        PrefillError: There are no ids.
        ArgumentError: There is more than one row.
    """
    import torch

    if ids is None:
        raise PrefillError("the processor returned no input_ids; it must also tokenize the text")
    row = torch.as_tensor(ids, device=device)
    row = row.reshape(1, -1) if row.ndim == 1 else row
    if row.ndim != 2 or row.shape[0] != 1:
        raise ArgumentError(f"the processor returned ids of shape {tuple(row.shape)}; a stream has one row")
    return row


def _is_per_token(name: str, value: Any, length: int) -> bool:
    shape = tuple(getattr(value, "shape", ()))
    if isinstance(value, (list, tuple)) and len(value) == 1 and isinstance(value[0], (list, tuple)):
        shape = (1, len(value[0]))
    return shape == (1, length) and not name.startswith(_FEATURE_PREFIXES)

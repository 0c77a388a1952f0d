"""Loss masks and log-probability sums from the labels of an answer."""

from __future__ import annotations

import array
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from unspool.core.stream.labels import REGIONS, Labels, Region
from unspool.errors import ArgumentError

__all__ = ["TRAINED", "loss_mask", "sum_logprobs"]

#: Everything that the model sampled, including the token that ended the answer.
TRAINED: tuple[Region, ...] = ("content", "reasoning", "markup", "name", "arguments", "end")


def loss_mask(
    labels: Labels,
    *,
    prompt: int = 0,
    train: Sequence[Region] = TRAINED,
    calls: Literal["all", "complete"] = "all",
    weights: Mapping[Region, float] | None = None,
) -> Any:
    """Return which tokens to train on.

    Args:
        labels: The labels of a stream that has ended.
        prompt: The number of prompt tokens before the answer; their mask is 0.
        train: The regions to train on. The default omits "skipped": special tokens that the format does not
            define, tokens after a stop string, and dropped calls.
        calls: "complete": do not train on malformed or incomplete calls, including their markers.
        weights: Regions with a weight other than 1.

    Returns:
        One entry per token, the prompt's first: 1 or 0 as uint8; float32 if `weights` is given. A NumPy
        array, or `array.array` if NumPy is not installed. Trainers accept `.tolist()`.

    Raises:
        ArgumentError: An argument has an invalid value, or the stream has not ended.
    """
    _check(labels, prompt, train, calls)
    for region in weights or {}:
        if region not in train:
            raise ArgumentError(f"weights has '{region}', which is not trained on; add it to train")
    broken = {i for i, is_complete in enumerate(labels.complete_calls) if not is_complete}
    left_out = broken if calls == "complete" else set()
    factors = [weights.get(name, 1.0) if weights else 1 for name in REGIONS]
    values = [factor if name in train else 0 for name, factor in zip(REGIONS, factors, strict=True)]
    return _mask(labels, prompt, values, left_out, is_weighted=weights is not None)


def _check_labels(labels: Labels) -> None:
    if labels is None:
        raise ArgumentError("labels is None; parse with labels=True and a tokenizer")
    if not isinstance(labels, Labels):
        raise ArgumentError(f"labels is of type {type(labels).__name__}; pass message.labels")


def _check(labels: Labels, prompt: int, train: Sequence[Region], calls: str) -> None:
    _check_labels(labels)
    if not labels.is_final:
        raise ArgumentError("the labels are of a stream that has not ended; take them after end()")
    if prompt < 0:
        raise ArgumentError(f"prompt is {prompt}; pass how many tokens it has, 0 or more")
    if isinstance(train, str):
        raise ArgumentError(f"train is the text '{train}'; pass a tuple of regions")
    for region in train:
        if region not in REGIONS:
            raise ArgumentError(f"train has '{region}'; use {', '.join(REGIONS)}")
    if calls not in ("all", "complete"):
        raise ArgumentError(f"calls is '{calls}'; use 'all' or 'complete'")


def _mask(
    labels: Labels, prompt: int, values: Sequence[float], left_out: set[int], *, is_weighted: bool
) -> Any:
    try:
        import numpy
    except ImportError:
        mask = array.array("f" if is_weighted else "B", bytes(prompt * (4 if is_weighted else 1)))
        for region, call in zip(labels.regions, labels.calls, strict=True):
            mask.append(0 if call in left_out else values[region])
        return mask
    entries = numpy.zeros(prompt + len(labels), "float32" if is_weighted else "uint8")
    answer = entries[prompt:]
    answer[:] = numpy.asarray(values, entries.dtype)[labels.regions]
    if left_out:
        answer[numpy.isin(labels.calls, list(left_out))] = 0
    return entries


def sum_logprobs(
    logprobs: Sequence[float],
    labels: Labels,
    path: Sequence[str | int] | None = None,
    *,
    call: int | None = None,
    region: Region | None = None,
    overlap: Literal["any", "first", "inside"] = "any",
) -> float | None:
    """Return the log-probability of a value, a name or a region: the sum over its tokens.

    Args:
        logprobs: One per token of the answer, as a list or an array.
        labels: The answer's labels.
        path, call, region, overlap: See `Labels.tokens`.

    Returns:
        The sum, or None if no token matches.

    Raises:
        ArgumentError: The number of log-probabilities differs from the number of tokens.
    """
    _check_labels(labels)
    if len(logprobs) != len(labels):
        raise ArgumentError(f"there are {len(logprobs)} logprobs for {len(labels)} tokens; pass one for each")
    tokens = labels.tokens(path, call=call, region=region, overlap=overlap)
    return float(sum(float(logprobs[token]) for token in tokens)) if tokens else None

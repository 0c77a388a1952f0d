"""What `bridge` gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Bridge", "Kind"]

Kind = Literal[
    "cut off",
    "stopped in reasoning",
    "template",
    "unfinished call",
    "generation prompt",
    "history rewritten",
    "reasoning dropped",
    "arguments re-serialised",
    "white space",
    "end of turn",
    "spelled marker",
]


@dataclass(frozen=True)
class Bridge:
    """The prompt of the next turn.

    Attributes:
        ids: The whole prompt, or None: `reason` says why.
        kept: How many of them were given: `ids[:kept]` are those that `bridge` got.
        mask: 1 for each token that the model sampled in this answer, 0 for all others; an entry for each of `ids`.
        is_exact: Whether the ids' text is what the template writes for the parsed conversation. None: not compared.
        kind: What kind of difference there is, or why there are no ids; None if there is nothing to say.
        reason: The same in words, with both texts at the first difference. A "spelled marker" is no difference of
            the texts: a message spells a marker, which is text here, and which the template's own encoding would
            make a marker.
        closed: The ids that were added because the answer has no end.
    """

    ids: list[int] | None
    kept: int
    mask: list[int]
    is_exact: bool | None
    kind: Kind | None = None
    reason: str | None = None
    closed: tuple[int, ...] = ()

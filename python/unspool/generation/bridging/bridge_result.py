"""The result of `bridge`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Bridge", "Kind", "Reason"]

Kind = Literal[
    "cut off", "stopped in reasoning", "template", "unfinished call", "generation prompt", "history rewritten",
    "reasoning dropped", "arguments re-serialised", "white space", "end of turn", "spelled marker",
]  # fmt: skip
#: A kind, and its explanation.
Reason = tuple[Kind, str]


@dataclass(frozen=True)
class Bridge:
    """The prompt of the next turn.

    Attributes:
        ids: The whole prompt, or None; `reason` then says why.
        kept: How many of them were passed to `bridge`: `ids[:kept]`.
        mask: One entry per id: 1 for tokens that the model sampled in this answer, 0 for all others.
        is_exact: Whether the ids' text equals the template's text for the parsed conversation. None: not
            checked.
        kind: The kind of difference, or why there are no ids; None if there is neither.
        reason: An explanation, with both texts at the first difference. "spelled marker" is not a difference
            of the texts: a message spells a marker, which is text here but would become a marker in the
            template's own encoding.
        closed: The ids that were added because the answer has no end.
    """

    ids: list[int] | None
    kept: int
    mask: list[int]
    is_exact: bool | None
    kind: Kind | None = None
    reason: str | None = None
    closed: tuple[int, ...] = ()

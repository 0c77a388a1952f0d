"""Where an answer starts: what the prompt has written of it already."""

from __future__ import annotations

from unspool.render.pieces import Written, without_prefix

__all__ = ["opens", "without_turn"]


def opens(turn: str, opener: str) -> bool:
    """Whether an answer after this turn starts inside what the opener opens."""
    return turn.rstrip().endswith(opener.strip())


def without_turn(written: Written, turn: str, continues: bool) -> Written:
    """An answer without the markup that the prompt has written.

    Args:
        turn: What the prompt ends with.
        continues: Leave out whatever the turn has begun, such as the reasoning's opener. False: leave out a whole turn
            only, so that what it opens is part of the answer.
    """
    first = written[0].text if written and written[0].is_markup else ""
    ends = [turn[begin:] for begin in range(len(turn) if continues else min(1, len(turn)))]
    return without_prefix(written, next((end for end in ends if first.startswith(end)), ""))

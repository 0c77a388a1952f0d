"""Handles the part of an answer that the prompt has already written."""

from __future__ import annotations

from unspool.writing.render.pieces import Written, without_prefix

__all__ = ["opens", "without_turn"]


def opens(turn: str, opener: str) -> bool:
    """Whether the turn leaves the opener's region open, so that the answer starts inside it."""
    return turn.rstrip().endswith(opener.strip())


def without_turn(written: Written, turn: str, continues: bool) -> Written:
    """Remove the markup that the prompt has already written.

    Args:
        turn: The end of the prompt.
        continues: Remove everything that the turn has begun, such as the reasoning opener. False: remove only
            a complete turn, so that the opener stays part of the answer.
    """
    first = written[0].text if written and written[0].is_markup else ""
    ends = [turn[begin:] for begin in range(len(turn) if continues else min(1, len(turn)))]
    return without_prefix(written, next((end for end in ends if first.startswith(end)), ""))

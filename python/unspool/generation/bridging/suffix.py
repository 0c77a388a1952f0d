"""Finds the text that the template writes after an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from unspool.formats.templates.probe import USER

__all__ = ["HELD", "Suffix", "find_suffix"]

#: A placeholder in the known answer for the model's last text or argument.
HELD = "zqheld"


@dataclass(frozen=True)
class Suffix:
    """The text after an answer's own text.

    Attributes:
        end: The token that ends the turn; "" if only the next message's first token ends it.
        rest: The text after the end, up to the next answer.
    """

    end: str
    rest: str

    def after(self, sampled: str) -> str:
        """Return the missing text after an answer that ended with this token ("": without an end token)."""
        if not sampled:
            return self.end + self.rest
        end = sampled.strip()
        bare = self.rest.lstrip()
        rest = self.rest if self.end or not bare.startswith(end) else bare[len(end) :]
        return rest.removeprefix(sampled[len(sampled.rstrip()) :])


def find_suffix(
    alone: str, followed: str, ends: Sequence[str], token_at: Callable[[str, int], str], last: str = ""
) -> Suffix | None:
    """Split the text after the known answer.

    Args:
        alone: The conversation that ends with the known answer.
        followed: The same with the next messages and the generation prompt.
        ends: The texts that may end an answer, according to the format.
        token_at: Returns the added token at a place of a text, or "".
        last: The added token at the end of the answer's ids, or "". The template may write it too.

    Returns:
        None if the template does not write the known answer.
    """
    count = alone.count(HELD)
    if not count or followed.count(HELD) < count:
        return None
    tail, whole = alone.rpartition(HELD)[2], followed.split(HELD, count)[-1]
    end = _first(tail, ends)
    if not end and whole.startswith(tail):
        place = tail.rfind(last) + len(last) if last in tail else len(tail)
        return Suffix("", whole[place if last else len(tail) :])
    place = tail.find(end) if end else -1
    if place >= 0 and whole.startswith(tail[:place]):
        return _split_at(whole, place, end, token_at(whole, place), alone)
    first = _first(whole, ends)
    return Suffix(first, whole.partition(first)[2]) if first else None


def _split_at(whole: str, place: int, end: str, token: str, alone: str) -> Suffix:
    """Split at the end of the turn. The last turn of a conversation may end with another token than earlier turns, or
    be the only one with an end token."""
    if not whole.startswith(end, place):
        users_end = alone.partition(str(USER["content"]))[2].lstrip()
        end = token if token and users_end.startswith(token) else ""
    return Suffix(end, whole[place + len(end) :])


def _first(text: str, ends: Sequence[str]) -> str:
    """Return the end that occurs first in the text, or ""."""
    found = [(text.find(end), -len(end), end) for end in ends if end and end in text]
    return min(found)[2] if found else ""

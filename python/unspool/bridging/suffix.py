"""Finds what the template writes behind an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from unspool.bridging.conversation import HELD, USER

__all__ = ["Suffix", "find_suffix"]


@dataclass(frozen=True)
class Suffix:
    """What stands behind an answer's own text.

    Attributes:
        end: The token that ends the turn; "" if only the next message's first token ends it.
        rest: What follows it, up to the answer that comes next.
    """

    end: str
    rest: str

    def after(self, sampled: str) -> str:
        """What is missing behind an answer that ended with this token, or "" for none."""
        if not sampled:
            return self.end + self.rest
        end = sampled.strip()
        bare = self.rest.lstrip()
        rest = self.rest if self.end or not bare.startswith(end) else bare[len(end) :]
        return rest.removeprefix(sampled[len(sampled.rstrip()) :])


def find_suffix(
    alone: str, followed: str, ends: Sequence[str], token_at: Callable[[str, int], str], last: str = ""
) -> Suffix | None:
    """Split what stands behind the known answer.

    Args:
        alone: The conversation that ends with the known answer.
        followed: The same with the next messages and the generation prompt.
        ends: What may end an answer, as the format says.
        token_at: The added token that a text has at a place, or "".
        last: The added token that the answer's ids end with, or "". The template may write it too.

    Returns:
        None: The template does not write the known answer.
    """
    count = alone.count(HELD)
    places = _places(followed)
    if not count or len(places) < count:
        return None
    tail = alone[alone.rindex(HELD) + len(HELD) :]
    whole = followed[places[count - 1] + len(HELD) :]
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
    """Split where the turn ends. The last turn of a conversation may end with another token, or alone have one."""
    if not whole.startswith(end, place):
        users_end = alone.partition(str(USER["content"]))[2].lstrip()
        end = token if token and users_end.startswith(token) else ""
    return Suffix(end, whole[place + len(end) :])


def _places(text: str) -> list[int]:
    found, place = [], text.find(HELD)
    while place >= 0:
        found.append(place)
        place = text.find(HELD, place + 1)
    return found


def _first(text: str, ends: Sequence[str]) -> str:
    """The end that comes first in the text; "" if there is none."""
    found = [(text.find(end), -len(end), end) for end in ends if end and end in text]
    return min(found)[2] if found else ""

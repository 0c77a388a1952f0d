"""Finds where an output that was parsed differs from what its format writes: the tolerances that applied."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Deviation", "find_deviations"]

_MARKUP = ("marker", "call")


class Deviation(NamedTuple):
    """Markup that differs.

    Attributes:
        place: Offset of its first byte in the output.
        written: The output's markup; "" if there is none.
        expected: The markup that the format writes there; "" if none.
    """

    place: int
    written: str
    expected: str

    @property
    def sentence(self) -> str:
        """The difference in words."""
        if not self.written:
            return f"byte {self.place}: {self.expected!r} is missing"
        if not self.expected:
            return f"byte {self.place}: {self.written!r} is not expected"
        return f"byte {self.place}: {self.written!r} stands in place of {self.expected!r}"


def find_deviations(
    regions: Sequence[tuple[str, str]], expected: Sequence[tuple[str, str]]
) -> list[Deviation]:
    """Compare the markup of an output with that of the text that the format writes for the same message.

    White space around markup is optional, so it is ignored.
    """
    written, wanted = _markup(regions), _markup(expected)
    matcher = difflib.SequenceMatcher(
        None, [text for _, text in written], [text for _, text in wanted], False
    )
    end = sum(len(text.encode()) for _, text in regions)
    deviations = []
    for kind, begin, stop, first, last in matcher.get_opcodes():
        if kind != "equal":
            place = written[begin][0] if begin < len(written) else end
            deviations.append(
                Deviation(
                    place,
                    "".join(text for _, text in written[begin:stop]),
                    "".join(text for _, text in wanted[first:last]),
                )
            )
    return deviations


def _markup(regions: Sequence[tuple[str, str]]) -> list[tuple[int, str]]:
    """Return (byte offset, text without white space) for each part of the markup."""
    found, place = [], 0
    for kind, text in regions:
        if kind in _MARKUP and text.strip():
            before = len(text) - len(text.lstrip())
            found.append((place + len(text[:before].encode()), "".join(text.split())))
        place += len(text.encode())
    return found

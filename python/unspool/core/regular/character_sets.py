"""Character sets as sorted, disjoint ranges, and their intersections."""

from __future__ import annotations

from unspool.core.regular.expressions import Chars, Repeat

__all__ = ["ANY_CHARACTER", "ANY_TEXT", "LAST", "characters", "excluding", "in_set", "within"]

LAST = "\U0010ffff"
ANY_CHARACTER = Chars((("\0", LAST),))
ANY_TEXT = Repeat(ANY_CHARACTER)


def characters(*parts: tuple[str, str] | str) -> Chars:
    """Build a set from ranges and single characters: "az" is a range, "-" is one character."""
    merged: list[tuple[str, str]] = []
    for first, last in sorted((part[0], part[-1]) for part in parts):
        if merged and ord(first) <= ord(merged[-1][1]) + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return Chars(tuple(merged))


def excluding(unwanted: Chars) -> Chars:
    """All characters except these."""
    ranges, start = [], 0
    for first, last in unwanted.ranges:
        if ord(first) > start:
            ranges.append((chr(start), chr(ord(first) - 1)))
        start = ord(last) + 1
    if start <= ord(LAST):
        ranges.append((chr(start), LAST))
    return Chars(tuple(ranges))


def within(chars: Chars, other: Chars) -> Chars:
    """The characters in both sets."""
    ranges, i, j = [], 0, 0
    while i < len(chars.ranges) and j < len(other.ranges):
        first = max(chars.ranges[i][0], other.ranges[j][0])
        last = min(chars.ranges[i][1], other.ranges[j][1])
        if first <= last:
            ranges.append((first, last))
        if chars.ranges[i][1] < other.ranges[j][1]:
            i += 1
        else:
            j += 1
    return Chars(tuple(ranges))


def in_set(char: str, found: Chars) -> bool:
    return any(first <= char <= last for first, last in found.ranges)

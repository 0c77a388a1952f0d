"""Merges the string and number keywords of schemas."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from unspool.core.regular.format_patterns import has_pattern
from unspool.core.regular.schema_patterns import PatternError, parse_pattern
from unspool.core.schema.schema import Bound, Listed, Nothing, Number, Schema, Text
from unspool.core.schema.source import Part
from unspool.writing.rules.multiples import multiples, multiples_between
from unspool.writing.rules.nodes import Chars, Repeat
from unspool.writing.schemas.pattern_lengths import lengths, most_counted
from unspool.writing.schemas.schema_parts import Parts

__all__ = ["LONGEST", "highest", "lowest", "merge_numbers", "merge_strings"]

#: Maximum number of characters that a grammar counts. In xgrammar each needs a state, which scans the vocabulary.
LONGEST = {"lark": 100_000, "structural_tag": 32, "gbnf": 32}

_EXACT = 2**53
_BESIDE_PATTERN = "engines do not combine it with pattern"


def merge_strings(notes: Parts, parts: Sequence[Part], longest: int) -> Schema:
    """A string's schema: a format, or a pattern and lengths; other combinations are dropped."""
    least = highest(part.source.text.least for part in parts) or 0
    most = lowest(part.source.text.most for part in parts)
    if most is not None and least > most:
        return Nothing(f"no text has at least {least} and at most {most} characters")
    format = _format(notes, parts)
    if format is not None:
        notes.drop_all(parts, ("minLength", "maxLength"), "engines do not combine it with format")
        return Text(format=format)
    pattern = _pattern(notes, parts, longest)
    if pattern is not None:
        return _counted(notes, parts, pattern, least, most)
    if least > longest:
        notes.drop_all(parts, ("minLength",), f"counting more than {longest:,} characters is too slow")
        least = 0
    if most is not None and most > longest:
        notes.drop_all(parts, ("maxLength",), f"counting more than {longest:,} characters is too slow")
        most = None
    return Text(shortest=least, longest=most)


def _counted(notes: Parts, parts: Sequence[Part], pattern: str, least: int, most: int | None) -> Schema:
    """A pattern. If it repeats one set of characters, it includes the lengths; else they are dropped unless implied."""
    whole = parse_pattern(pattern)
    shortest, longest = lengths(whole)
    if (longest is not None and longest < least) or (most is not None and shortest > most):
        return Nothing(f"no text of this length matches the pattern {pattern!r:.80}")
    least = least if least > shortest else 0
    most = most if most is not None and (longest is None or most < longest) else None
    if isinstance(whole, Repeat) and isinstance(whole.part, Chars):
        return Text(pattern, shortest=least, longest=most)
    if least:
        notes.drop_all(parts, ("minLength",), _BESIDE_PATTERN)
    if most is not None:
        notes.drop_all(parts, ("maxLength",), _BESIDE_PATTERN)
    return Text(pattern)


def _format(notes: Parts, parts: Sequence[Part]) -> Any:
    """The first format that a grammar can express; patterns next to it are dropped."""
    first = None
    for part in parts:
        name = part.source.format
        if name is None:
            continue
        if first is None and has_pattern(name):
            first = name
        elif name != first:
            notes.drop(part, "format", f"no matcher knows {name!r}, or another format stands beside it")
    if first is not None:
        notes.drop_all(parts, ("pattern",), "engines do not combine it with format")
    return first


def _pattern(notes: Parts, parts: Sequence[Part], longest: int) -> Any:
    """The first pattern that a grammar can express."""
    first = None
    for part in parts:
        pattern = part.source.pattern
        if pattern is None:
            continue
        try:
            if first is None and most_counted(parse_pattern(pattern)) > longest:
                notes.drop(part, "pattern", f"counting more than {longest:,} characters is too slow")
            elif first is None:
                first = pattern
            elif pattern != first:
                notes.drop(part, "pattern", "another pattern stands beside it")
        except PatternError as error:
            notes.drop(part, "pattern", str(error))
    return first


def merge_numbers(notes: Parts, parts: Sequence[Part], name: str) -> Schema:
    """A number's schema: its type, its bounds and its step, or the list of values if there are few."""
    step = _step(parts)
    if step is not None and step == int(step):
        name = "integer"
    lowest: Bound | None = None
    highest: Bound | None = None
    for part in parts:
        for bound in part.source.range.lowest:
            if _is_exact(bound):
                lowest = _narrower(lowest, bound, 1)
            else:
                notes.drop(part, "minimum", f"a grammar does not compare exactly with {bound.number!r}")
        for bound in part.source.range.highest:
            if _is_exact(bound):
                highest = _narrower(highest, bound, -1)
            else:
                notes.drop(part, "maximum", f"a grammar does not compare exactly with {bound.number!r}")
    if name == "integer":
        lowest, highest = _whole(lowest, 1), _whole(highest, -1)
        step = None if step == 1 else step
    if _is_empty(lowest, highest):
        return Nothing("no number is between the bounds")
    number = Number(name == "integer", lowest, highest)
    if step is None:
        return number
    listed = multiples_between(step, lowest, highest, number.is_integer)
    if listed is not None:
        return Listed(tuple(listed)) if listed else Nothing(f"no multiple of {step} is between the bounds")
    stepped = replace(number, step=int(step) if step == int(step) else float(step))
    if multiples(stepped) is None:
        notes.drop_all(parts, ("multipleOf",), "a grammar of its multiples would be too large")
        return number
    return stepped


def _step(parts: Sequence[Part]) -> Decimal | None:
    """The number whose multiples are allowed by all parts."""
    step: Decimal | None = None
    for part in parts:
        stated = part.source.range.step
        if stated is None:
            continue
        number = Decimal(repr(stated))
        if step is None:
            step = number
        else:  # the least common multiple of both, counted in the last decimal place of either
            places = Decimal(10) ** min(int(number.as_tuple().exponent), int(step.as_tuple().exponent), 0)
            step = math.lcm(int(step / places), int(number / places)) * places
    return step


def _is_exact(bound: Bound) -> bool:
    return abs(bound.number) <= _EXACT and "e" not in repr(bound.number)


def _narrower(one: Bound | None, other: Bound, sign: int) -> Bound:
    """The narrower of two bounds on one side, 1 for the lower and -1 for the upper; of equal ones, the exclusive one."""
    inward = 0 if one is None else (other.number - one.number) * sign
    if one is not None and (inward < 0 or (inward == 0 and other.belongs)):
        return one
    number = other.number
    return Bound(int(number) if number == number // 1 else number, other.belongs)


def _whole(bound: Bound | None, sign: int) -> Bound | None:
    """The bound of an integer on one side, as an integer that belongs to the range."""
    if bound is None:
        return None
    number = bound.number * sign
    return Bound((math.ceil(number) if bound.belongs else math.floor(number) + 1) * sign)


def _is_empty(lowest: Bound | None, highest: Bound | None) -> bool:
    if lowest is None or highest is None:
        return False
    first, last = lowest.number, highest.number
    return first > last or (first == last and not (lowest.belongs and highest.belongs))


def highest(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


def lowest(values: Iterable[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)

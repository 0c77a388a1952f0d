"""Merges the string and number keywords of schemas."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from unspool.core.regular.schema_patterns import PatternError, parse_pattern
from unspool.errors import ArgumentError
from unspool.writing.rules.multiples import multiples, multiples_between
from unspool.writing.rules.nodes import Chars, Repeat
from unspool.writing.schemas.format_patterns import has_pattern
from unspool.writing.schemas.pattern_lengths import lengths, most_counted
from unspool.writing.schemas.schema_keywords import Part, count_of, number_of
from unspool.writing.schemas.schema_parts import Parts

__all__ = ["LONGEST", "highest", "lowest", "merge_numbers", "merge_strings"]

#: Maximum number of characters that a grammar counts. In xgrammar each needs a state, which scans the vocabulary.
LONGEST = {"lark": 100_000, "structural_tag": 32, "gbnf": 32}

_EXACT = 2**53


def merge_strings(notes: Parts, parts: Sequence[Part], longest: int) -> Any:
    """A string's schema: a format, or a pattern and lengths; other combinations are dropped."""
    least = highest(count_of(part, "minLength") for part in parts) or 0
    most = lowest(count_of(part, "maxLength") for part in parts)
    if most is not None and least > most:
        return False
    found = _format(notes, parts)
    if found is not None:
        notes.drop_all(parts, ("minLength", "maxLength"), "engines do not combine it with format")
        return {"type": "string", "format": found}
    pattern = _pattern(notes, parts, longest)
    if pattern is not None:
        return _counted(notes, parts, pattern, least, most)
    shape: dict[str, Any] = {"type": "string"}
    for keyword, bound in (("minLength", least or None), ("maxLength", most)):
        if bound is not None and bound <= longest:
            shape[keyword] = bound
        elif bound is not None:
            notes.drop_all(parts, (keyword,), f"counting more than {longest:,} characters is too slow")
    return shape


def _counted(notes: Parts, parts: Sequence[Part], pattern: str, least: int, most: int | None) -> Any:
    """A pattern. If it repeats one set of characters, it includes the lengths; else they are dropped unless implied."""
    whole = parse_pattern(pattern)
    shortest, longest = lengths(whole)
    if (longest is not None and longest < least) or (most is not None and shortest > most):
        return False
    bounds = {"minLength": least} if least > shortest else {}
    if most is not None and (longest is None or most < longest):
        bounds["maxLength"] = most
    if bounds and not (isinstance(whole, Repeat) and isinstance(whole.part, Chars)):
        notes.drop_all(parts, bounds, "engines do not combine it with pattern")
        bounds = {}
    return {"type": "string", "pattern": pattern, **bounds}


def _format(notes: Parts, parts: Sequence[Part]) -> Any:
    """The first format that a grammar can express; patterns next to it are dropped."""
    found = None
    for part in parts:
        if not part.has("format"):
            continue
        name = part.get("format")
        if found is None and has_pattern(name):
            found = name
        elif name != found:
            notes.drop(part, "format", f"no matcher knows {name!r}, or another format stands beside it")
    if found is not None:
        notes.drop_all(parts, ("pattern",), "engines do not combine it with format")
    return found


def _pattern(notes: Parts, parts: Sequence[Part], longest: int) -> Any:
    """The first pattern that a grammar can express."""
    found = None
    for part in parts:
        if not part.has("pattern"):
            continue
        pattern = part.get("pattern")
        try:
            if found is None and most_counted(parse_pattern(pattern)) > longest:
                notes.drop(part, "pattern", f"counting more than {longest:,} characters is too slow")
            elif found is None:
                found = pattern
            elif pattern != found:
                notes.drop(part, "pattern", "another pattern stands beside it")
        except PatternError as error:
            notes.drop(part, "pattern", str(error))
    return found


def merge_numbers(notes: Parts, parts: Sequence[Part], name: str) -> Any:
    """A number's schema: its type, its bounds and `multipleOf`, or the list of values if there are few."""
    step = _step(parts)
    if step is not None and step == int(step):
        name = "integer"
    bounds: dict[str, int | float] = {}
    for part in parts:
        for keyword in ("minimum", "maximum"):
            for bound, is_exclusive in _bounds(part, keyword):
                if abs(bound) > _EXACT or "e" in repr(bound):
                    notes.drop(part, keyword, f"a grammar does not compare exactly with {bound!r}")
                else:
                    _narrow(bounds, keyword, bound, is_exclusive)
    if name == "integer":
        bounds = _whole_bounds(bounds)
        step = None if step == 1 else step
    made = {"type": name, **bounds}
    if step is None or _is_empty(bounds):
        return False if _is_empty(bounds) else made
    listed = multiples_between(step, bounds, name == "integer")
    if listed is not None:
        return {"enum": listed} if listed else False
    made["multipleOf"] = int(step) if step == int(step) else float(step)
    if multiples(made) is None:
        notes.drop_all(parts, ("multipleOf",), "a grammar of its multiples would be too large")
        del made["multipleOf"]
    return made


def _step(parts: Sequence[Part]) -> Decimal | None:
    """The number whose multiples are allowed by all parts."""
    step: Decimal | None = None
    for part in parts:
        stated = number_of(part, "multipleOf")
        if stated is None:
            continue
        if stated <= 0:
            raise ArgumentError(f"{part.path}/multipleOf: expected a number above 0; got {stated!r}")
        found = Decimal(repr(stated))
        if step is None:
            step = found
        else:  # the least common multiple of both, counted in the last decimal place of either
            places = Decimal(10) ** min(int(found.as_tuple().exponent), int(step.as_tuple().exponent), 0)
            step = math.lcm(int(step / places), int(found / places)) * places
    return step


def _bounds(part: Part, keyword: str) -> list[tuple[int | float, bool]]:
    """A schema's bounds on one side, each with whether it is exclusive."""
    exclusive = f"exclusive{keyword.capitalize()}"
    is_old = isinstance(part.get(exclusive), bool)  # draft 4: a flag next to the bound
    found = [(number_of(part, keyword), is_old and part.get(exclusive))]
    if not is_old:
        found.append((number_of(part, exclusive), True))
    return [(bound, is_exclusive) for bound, is_exclusive in found if bound is not None]


def _narrow(bounds: dict[str, int | float], keyword: str, bound: int | float, is_exclusive: bool) -> None:
    """Keep the narrower bound; of two equal ones, the exclusive one."""
    sign = 1 if keyword == "minimum" else -1
    exclusive = f"exclusive{keyword.capitalize()}"
    old = bounds.get(keyword, bounds.get(exclusive))
    if old is not None and (bound - old) * sign < 0:
        return
    if bound == old and not is_exclusive:
        return
    bounds.pop(keyword, None)
    bounds.pop(exclusive, None)
    bounds[exclusive if is_exclusive else keyword] = int(bound) if bound == bound // 1 else bound


def _whole_bounds(bounds: dict[str, int | float]) -> dict[str, int | float]:
    """The bounds of an integer as inclusive integers."""
    whole: dict[str, int | float] = {}
    for keyword, bound in bounds.items():
        if keyword == "minimum":
            whole["minimum"] = math.ceil(bound)
        elif keyword == "exclusiveMinimum":
            whole["minimum"] = math.floor(bound) + 1
        elif keyword == "maximum":
            whole["maximum"] = math.floor(bound)
        else:
            whole["maximum"] = math.ceil(bound) - 1
    return whole


def _is_empty(bounds: dict[str, int | float]) -> bool:
    first = bounds.get("minimum", bounds.get("exclusiveMinimum"))
    last = bounds.get("maximum", bounds.get("exclusiveMaximum"))
    if first is None or last is None:
        return False
    return first > last or (first == last and len(bounds.keys() & {"minimum", "maximum"}) < 2)


def highest(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


def lowest(values: Iterable[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)

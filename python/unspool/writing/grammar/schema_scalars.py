"""Merges the string and number keywords of schemas."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from unspool.core.schema.character_sets import characters, excluding
from unspool.core.schema.schema_patterns import PatternError, parse_pattern
from unspool.errors import ArgumentError
from unspool.writing.grammar.nodes import Repeat
from unspool.writing.grammar.print_pattern import lengths, only, print_pattern
from unspool.writing.grammar.schema_keywords import Part, count_of, number_of
from unspool.writing.grammar.schema_parts import Parts

__all__ = ["FORMATS", "PLAIN", "highest", "lowest", "merge_numbers", "merge_strings", "print_whole"]

FORMATS = ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri")

# xgrammar writes a pattern's characters unchanged, without JSON escapes.
PLAIN = excluding(characters("\0\x1f", '"', "\\"))

_EXACT = 2**53
_MAX_STEP = 1_000
_MAX_LENGTH = {"llguidance": 100_000, "xgrammar": 32, "gbnf": 1_000}


def merge_strings(notes: Parts, parts: Sequence[Part], target: str) -> Any:
    """A string's schema: a format, a pattern, or lengths; other combinations are dropped."""
    shortest = highest(count_of(part, "minLength") for part in parts)
    longest = lowest(count_of(part, "maxLength") for part in parts)
    if shortest is not None and longest is not None and shortest > longest:
        return False
    shape = _format(notes, parts) or _pattern(notes, parts, target) or {}
    if "format" in shape or ("pattern" in shape and target != "llguidance"):
        notes.drop_all(
            parts, ("minLength", "maxLength"), f"matchers do not combine it with {next(iter(shape))}"
        )
        return {"type": "string", **shape}
    if "pattern" in shape and not _has_length(parts, shortest, longest):
        return False
    if target == "xgrammar":
        return {"type": "string", **shape, **_counted_pattern(notes, parts, shortest, longest)}
    for keyword, bound in (("minLength", shortest), ("maxLength", longest)):
        if bound is None or (keyword == "minLength" and bound == 0):
            continue
        if bound > _MAX_LENGTH[target]:
            notes.drop_all(
                parts, (keyword,), f"counting more than {_MAX_LENGTH[target]:,} characters is too slow"
            )
        else:
            shape[keyword] = bound
    return {"type": "string", **shape}


def _counted_pattern(
    notes: Parts, parts: Sequence[Part], shortest: int | None, longest: int | None
) -> dict[str, Any]:
    """Lengths as a pattern: with lengths, xgrammar would accept control characters, which are invalid in
    JSON.

    The pattern has no character that needs an escape, so it is for short strings only.
    """
    if longest is not None and longest <= _MAX_LENGTH["xgrammar"]:
        return {"pattern": f"^(?:{print_pattern(Repeat(PLAIN, shortest or 0, longest))})$"}
    if longest is not None or shortest:
        notes.drop_all(
            parts, ("minLength", "maxLength"), "xgrammar counts the characters of short strings only"
        )
    return {}


def _has_length(parts: Sequence[Part], shortest: int | None, longest: int | None) -> bool:
    """Whether some text of the first pattern has a length within the bounds; otherwise a matcher rejects the
    schema."""
    for part in parts:
        with suppress(PatternError):
            if part.has("pattern"):
                least, most = lengths(parse_pattern(part.get("pattern")))
                return (longest is None or least <= longest) and (
                    shortest is None or most is None or most >= shortest
                )
    return True


def _format(notes: Parts, parts: Sequence[Part]) -> dict[str, Any] | None:
    """The first format that matchers support; patterns next to it are dropped."""
    found = None
    for part in parts:
        if not part.has("format"):
            continue
        name = part.get("format")
        if found is None and name in FORMATS:
            found = name
        elif name != found:
            notes.drop(part, "format", f"no matcher knows {name!r}, or another format stands beside it")
    if found is None:
        return None
    notes.drop_all(parts, ("pattern",), "matchers do not combine it with format")
    return {"format": found}


def _pattern(notes: Parts, parts: Sequence[Part], target: str) -> dict[str, Any] | None:
    """The first pattern that a grammar can express."""
    found = None
    for part in parts:
        if not part.has("pattern"):
            continue
        if found is not None:
            if part.get("pattern") != found[0]:
                notes.drop(part, "pattern", "another pattern stands beside it")
            continue
        try:
            found = (part.get("pattern"), print_whole(part.get("pattern"), target))
        except PatternError as error:
            notes.drop(part, "pattern", str(error))
    return found and {"pattern": found[1]}


def print_whole(pattern: Any, target: str) -> str:
    """A pattern for the whole string in the target's syntax.

    Raises:
        PatternError: The target cannot express it.
    """
    whole = parse_pattern(pattern)
    if target == "xgrammar":
        plain = only(whole, PLAIN)
        if plain is None:
            raise PatternError("xgrammar cannot escape the quotes, backslashes or control characters in it")
        whole = plain
    return f"^(?:{print_pattern(whole)})$"


def merge_numbers(notes: Parts, parts: Sequence[Part], name: str, target: str) -> Any:
    """A number's schema: its type, its bounds, and for integers `multipleOf`."""
    step = _step(notes, parts, name)
    if step is not None:
        name = "integer"
    bounds: dict[str, int | float] = {}
    for part in parts:
        for keyword in ("minimum", "maximum"):
            for bound, is_exclusive in _bounds(part, keyword):
                if abs(bound) > _EXACT or "e" in repr(bound):
                    notes.drop(part, keyword, f"matchers do not compare exactly with {bound!r}")
                else:
                    _narrow(bounds, keyword, bound, is_exclusive)
    if name == "integer":
        bounds = _whole_bounds(bounds)
    if _is_empty(bounds, step):
        return False
    if step is not None and (step > _MAX_STEP or target == "gbnf" or (target == "xgrammar" and bounds)):
        notes.drop_all(parts, ("multipleOf",), "the matcher ignores it, or takes too long over it")
        step = None
    return {"type": name, **bounds, **({} if step in (None, 1) else {"multipleOf": step})}


def _step(notes: Parts, parts: Sequence[Part], name: str) -> int | None:
    """The divisor of a number, if it makes the number an integer."""
    step = None
    for part in parts:
        found = number_of(part, "multipleOf")
        if found is None:
            continue
        if found <= 0:
            raise ArgumentError(f"{part.path}/multipleOf: expected a number above 0; got {found!r}")
        if found == found // 1:
            step = math.lcm(step or 1, int(found))
        elif name == "number" or (1 / found) % 1:
            notes.drop(part, "multipleOf", "matchers count in whole numbers only")
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


def _is_empty(bounds: dict[str, int | float], step: int | None) -> bool:
    first = bounds.get("minimum", bounds.get("exclusiveMinimum"))
    last = bounds.get("maximum", bounds.get("exclusiveMaximum"))
    if first is None or last is None:
        return False
    if first == last:
        return len(bounds.keys() & {"minimum", "maximum"}) < 2 or bool(step and first % step)
    return first > last or (step is not None and -(-first // step) * step > last)


def highest(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


def lowest(values: Iterable[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)

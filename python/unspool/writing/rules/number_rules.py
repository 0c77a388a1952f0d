"""Numbers between bounds, spelled out digit by digit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

from unspool.core.schema.schema import Bound, Number
from unspool.writing.rules.multiples import multiples
from unspool.writing.rules.nodes import (
    EMPTY,
    Chars,
    Literal,
    Node,
    Repeat,
    Terminal,
    choice,
    optional,
    sequence,
)

__all__ = ["number_rule"]

MAX_DIGITS = 16
"""Maximum number of digits before and after the point, because a double has no more."""

MAX_EXPONENT = 99
MAX_EXACT = 14
"""Maximum number of digits at which a double is still below the next power of ten."""

_DIGIT = Chars((("0", "9"),))
_WHOLE = choice(Literal("0"), sequence(Chars((("1", "9"),)), Repeat(_DIGIT, 0, MAX_DIGITS - 1)))
_FRACTION = optional(sequence(Literal("."), Repeat(_DIGIT, 1, MAX_DIGITS)))
_EXPONENT = sequence(
    Chars((("E", "E"), ("e", "e"))), optional(Chars((("+", "+"), ("-", "-")))), Repeat(_DIGIT, 1, 2)
)


@dataclass(frozen=True)
class _Bound:
    number: Decimal
    belongs: bool

    def __neg__(self) -> _Bound:
        return _Bound(-self.number, self.belongs)

    @property
    def whole(self) -> int:
        return int(self.number)

    @property
    def digits(self) -> str:
        """The digits after the point, without trailing zeros."""
        return f"{self.number:f}".partition(".")[2].rstrip("0")


_ZERO = _Bound(Decimal(0), True)
_ABOVE_ZERO = _Bound(Decimal(0), False)


def number_rule(schema: Number) -> Node:
    """A number that fits a schema; the schema must match at least one number.

    With bounds, a number with an exponent has one digit before the point, as programs write them.
    """
    if schema.step is not None:
        node = multiples(schema)
        assert node is not None
        return node
    is_integer = schema.is_integer
    lowest, highest = _bound(schema.lowest), _bound(schema.highest)
    if lowest is None and highest is None:
        rest = EMPTY if is_integer else sequence(_FRACTION, optional(_EXPONENT))
        return Terminal(sequence(optional(Literal("-")), _WHOLE, rest))
    options: list[Node | None] = []
    if highest is None or highest.number > 0 or highest == _ZERO:
        low = lowest if lowest is not None and lowest.number >= 0 else _ZERO
        options += [_without_sign(low, highest, is_integer), _with_exponent(low, highest, is_integer)]
    if lowest is None or lowest.number < 0:
        low = _ABOVE_ZERO if highest is None or highest.number >= 0 else -highest
        high = None if lowest is None else -lowest
        negated = [_without_sign(low, high, is_integer), _with_exponent(low, high, is_integer)]
        options += [option and sequence(Literal("-"), option) for option in negated]
    return Terminal(choice(*[option for option in options if option is not None]))


def _bound(bound: Bound | None) -> _Bound | None:
    return None if bound is None else _Bound(Decimal(repr(bound.number)), bound.belongs)


def _without_sign(low: _Bound, high: _Bound | None, is_integer: bool) -> Node | None:
    """Numbers from `low` to `high`, which are not negative; None: there are no such numbers."""
    if is_integer:
        first = math.ceil(low.number) if low.belongs else math.floor(low.number) + 1
        if high is None:
            return _at_least(first)
        last = math.floor(high.number) if high.belongs else math.ceil(high.number) - 1
        return _between(first, last) if first <= last else None
    if high is not None and low.whole == high.whole:
        return _with(Literal(str(low.whole)), _fraction(low, high))
    first_wholes = _with(Literal(str(low.whole)), _fraction(low, None))
    if high is None:
        return choice(first_wholes or EMPTY, sequence(_at_least(low.whole + 1), _FRACTION))
    options = [first_wholes, _with(Literal(str(high.whole)), _fraction(None, high))]
    if low.whole + 1 < high.whole:
        options.append(sequence(_between(low.whole + 1, high.whole - 1), _FRACTION))
    left = [option for option in options if option is not None]
    return choice(*left) if left else None


def _with_exponent(low: _Bound, high: _Bound | None, is_integer: bool) -> Node | None:
    """Numbers such as 1.5e-07, with each exponent that keeps all of them within the bounds; None: there is none."""
    first = -MAX_EXPONENT if low.number <= 0 else _ceil_log(low.number)
    last = MAX_EXPONENT if high is None else _ceil_log(high.number) if high.number > 0 else first
    last -= high is not None and high.number < Decimal(10) ** last
    if low.number > 0 and not low.belongs and Decimal(10) ** first == low.number:
        first += 1
    if is_integer or last - 1 < first:
        return None
    signs = [("+", max(first, 0), last - 1), ("-", max(1 - last, 1), -first)]
    exponents = [
        sequence(
            optional(Literal(sign)) if sign == "+" else Literal(sign),
            optional(Literal("0")),
            _between(least, most),
        )
        for sign, least, most in signs
        if least <= most
    ]
    digits = optional(sequence(Literal("."), Repeat(_DIGIT, 1, MAX_EXACT)))
    return sequence(Chars((("1", "9"),)), digits, Chars((("E", "E"), ("e", "e"))), choice(*exponents))


def _ceil_log(number: Decimal) -> int:
    """The smallest exponent of ten that is not below the number."""
    exponent = number.adjusted()
    return exponent + (Decimal(10) ** exponent < number)


def _with(first: Node, rest: Node | None) -> Node | None:
    return None if rest is None else sequence(first, rest)


# Integers, as texts of digits.


def _at_least(first: int) -> Node:
    """Integers from `first` on."""
    if first == 0:
        return _WHOLE
    text = str(first)
    longer = sequence(Chars((("1", "9"),)), Repeat(_DIGIT, len(text), max(len(text), MAX_DIGITS - 1)))
    return choice(_same_length(text, "9" * len(text)), longer)


def _between(first: int, last: int) -> Node:
    """Integers from `first` to `last`, which are not negative."""
    low, high = str(first), str(last)
    if len(low) == len(high):
        return _same_length(low, high)
    options = [_same_length(low, "9" * len(low)), _same_length("1" + "0" * (len(high) - 1), high)]
    if len(low) + 1 < len(high):
        options.insert(1, sequence(Chars((("1", "9"),)), Repeat(_DIGIT, len(low), len(high) - 2)))
    return choice(*options)


def _same_length(low: str, high: str) -> Node:
    """Texts of digits between two texts of the same length."""
    if not low or (set(low) == {"0"} and set(high) == {"9"}):
        return Repeat(_DIGIT, len(low), len(low)) if low else EMPTY
    if low[0] == high[0]:
        return sequence(Literal(low[0]), _same_length(low[1:], high[1:]))
    rest = len(low) - 1
    options = [
        sequence(Literal(low[0]), _same_length(low[1:], "9" * rest)),
        sequence(Literal(high[0]), _same_length("0" * rest, high[1:])),
    ]
    if int(low[0]) + 1 < int(high[0]):
        middle = Chars(((chr(ord(low[0]) + 1), chr(ord(high[0]) - 1)),))
        options.insert(1, sequence(middle, Repeat(_DIGIT, rest, rest) if rest else EMPTY))
    return choice(*options)


# The part after the integer.


def _fraction(low: _Bound | None, high: _Bound | None) -> Node | None:
    """A point and digits, or nothing, so that the number is within the bounds; None: impossible."""
    ends = _Ends(
        low.digits if low else None,
        bool(low and low.belongs),
        high.digits if high else None,
        bool(high and high.belongs),
    )
    digits = ends.texts(MAX_DIGITS, may_end=False)
    options: list[Node] = [EMPTY] if ends.allow_zero else []
    if digits is not None:
        options.append(sequence(Literal("."), digits))
    return choice(*options) if options else None


@dataclass(frozen=True)
class _Ends:
    """The remaining digits of two bounds; None: there is no bound, or it can no longer be reached."""

    low: str | None
    low_belongs: bool
    high: str | None
    high_belongs: bool

    @property
    def allow_zero(self) -> bool:
        """Whether the number may end here, or continue with zeros only."""
        above = self.low is None or (not self.low and self.low_belongs)
        return above and (self.high is None or bool(self.high) or self.high_belongs)

    def texts(self, left: int, *, may_end: bool) -> Node | None:
        """Texts of at most `left` digits that stay within the bounds."""
        if (self.low is None or (not self.low and self.low_belongs)) and self.high is None:
            return Repeat(_DIGIT, 0 if may_end else 1, left) if left or may_end else None
        options: list[Node] = [EMPTY] if may_end and self.allow_zero else []
        for first, last, after in self._steps() if left else []:
            rest = after.texts(left - 1, may_end=True)
            if rest is not None:
                options.append(sequence(Chars(((str(first), str(last)),)), rest))
        return choice(*options) if options else None

    def _steps(self) -> list[tuple[int, int, _Ends]]:
        """Ranges of the next digit, each with the remaining bounds after it."""
        low = 0 if self.low is None else int(self.low[:1] or 0)
        high = 9 if self.high is None else int(self.high[:1] or 0)
        if low > high:
            return []
        at_low = (self.low[1:] if self.low is not None else None, self.low_belongs)
        at_high = (self.high[1:] if self.high is not None else None, self.high_belongs)
        if low == high:
            return [(low, low, _Ends(*at_low, *at_high))]
        steps = [(low, low, _Ends(*at_low, None, False)), (high, high, _Ends(None, False, *at_high))]
        if low + 1 < high:
            steps.insert(1, (low + 1, high - 1, _Ends(None, False, None, False)))
        return steps

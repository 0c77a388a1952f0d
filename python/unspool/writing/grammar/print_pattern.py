"""Prints nodes as regular expressions that llguidance, xgrammar and Python's `re` interpret in the same
way."""

from __future__ import annotations

from unspool.core.schema.character_sets import ANY_CHARACTER, LAST, characters, excluding, in_set, within
from unspool.writing.grammar.nodes import (
    Chars,
    Choice,
    Literal,
    Node,
    Repeat,
    Sequence,
    Terminal,
    choice,
    sequence,
)

__all__ = ["lengths", "only", "print_pattern", "times"]


def print_pattern(found: Node) -> str:
    """A regular expression for the whole string, without anchors."""
    if isinstance(found, Chars):
        return _print_characters(excluding(found) if found.negated else found)
    if isinstance(found, Literal):
        return "".join(map(_character, found.text))
    if isinstance(found, Sequence):
        return "".join(
            _group(part) if isinstance(part, Choice) else print_pattern(part) for part in found.parts
        )
    if isinstance(found, Choice):
        return "|".join(map(print_pattern, found.parts))
    if isinstance(found, Terminal):
        return print_pattern(found.part)
    if isinstance(found, Repeat):
        item = print_pattern(found.part)
        if isinstance(found.part, Chars):
            return item + times(found)
        if (found.least, found.most) == (0, 1):
            return f"(?:{item}|)"  # xgrammar also admits the `x` alone of `(?:x*y)?`
        return f"(?:{item}){times(found)}"
    raise ValueError(f"a regular expression cannot hold {found!r}")


def times(found: Repeat) -> str:
    """The repetition suffix."""
    known = {(0, None): "*", (1, None): "+", (0, 1): "?", (1, 1): ""}.get((found.least, found.most))
    if known is not None:
        return known
    if found.most is None:
        return f"{{{found.least},}}"
    return f"{{{found.least}}}" if found.least == found.most else f"{{{found.least},{found.most}}}"


def only(found: Node, allowed: Chars) -> Node | None:
    """The expression restricted to these characters; None: it needs others."""
    if isinstance(found, Chars):
        left = within(found, allowed)
        return left if left.ranges else None
    if isinstance(found, Literal):
        return found if all(in_set(char, allowed) for char in found.text) else None
    if isinstance(found, Repeat):
        part = only(found.part, allowed)
        if part is None:
            return sequence() if found.least == 0 else None
        return Repeat(part, found.least, found.most)
    if isinstance(found, (Sequence, Choice)):
        parts = [only(part, allowed) for part in found.parts]
        left_over = [part for part in parts if part is not None]
        if isinstance(found, Sequence):
            return sequence(*left_over) if len(left_over) == len(parts) else None
        return choice(*left_over) if left_over else None
    return found


def lengths(found: Node) -> tuple[int, int | None]:
    """The minimum and maximum number of characters; None: no maximum."""
    if isinstance(found, Literal):
        return len(found.text), len(found.text)
    if isinstance(found, Repeat):
        least, most = lengths(found.part)
        is_endless = most != 0 and None in (most, found.most)
        return found.least * least, None if is_endless else (most or 0) * (found.most or 0)
    if isinstance(found, (Sequence, Choice)):
        each = [lengths(part) for part in found.parts]
        is_sequence = isinstance(found, Sequence)
        least = sum(one for one, _ in each) if is_sequence else min(one for one, _ in each)
        greatest = [most for _, most in each if most is not None]
        if len(greatest) < len(each):
            return least, None
        return least, sum(greatest) if is_sequence else max(greatest)
    return 1, 1


def _group(found: Node) -> str:
    return f"(?:{print_pattern(found)})"


def _print_characters(found: Chars) -> str:
    if not found.ranges:
        raise ValueError("an expression needs a character out of none")
    first, last = found.ranges[0]
    if found == ANY_CHARACTER:
        return r"[\s\S]"
    if len(found.ranges) == 1 and first == last:
        return _character(first)
    # A class up to the last code point is shorter in negated form.
    left_out = excluding(found)
    if found.ranges[-1][1] == LAST and left_out.ranges:
        return f"[^{_ranges(left_out)}]"
    return f"[{_ranges(found)}]"


def _ranges(found: Chars) -> str:
    return "".join(
        _character(first) + (f"-{_character(last)}" if last > first else "") for first, last in found.ranges
    )


_PLAIN = characters("09", "AZ", "az", "_", " ")


def _character(char: str) -> str:
    return char if char > "\uffff" or in_set(char, _PLAIN) else f"\\u{ord(char):04x}"

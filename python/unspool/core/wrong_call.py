"""Errors for calls with wrong arguments: what is wrong, the value, and what to pass."""

from __future__ import annotations

from collections.abc import Iterable

from unspool.errors import UnknownOptionError, shorten

__all__ = ["near_names", "shown", "unknown_option"]


def shown(value: object) -> str:
    """A value's repr, cut if it is long."""
    return shorten(repr(value), 80)


def near_names(name: str, names: Iterable[str], count: int = 1) -> str:
    """Return a hint such as `did you mean 'stop'?`; empty if no name is similar."""
    import difflib  # only errors need it

    near = difflib.get_close_matches(name, list(names), n=count)
    return f"did you mean {' or '.join(map(repr, near))}?" if near else ""


def unknown_option(call: str, name: str, names: Iterable[str]) -> UnknownOptionError:
    """The error for an option that does not exist."""
    known = list(names)
    hint = near_names(name, known) or f"see help({call})"
    return UnknownOptionError(f"{call}: there is no option {shown(name)}; {hint}")

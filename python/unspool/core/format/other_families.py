"""Other families whose calls a stream also reads (`also`)."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from unspool._core import FormatSource, OtherFamilies
from unspool.core.format.registry import find_source, sources
from unspool.errors import ArgumentError

__all__ = ["Also", "compile_others"]

Also = str | FormatSource | Sequence[str | FormatSource]


def compile_others(also: Also, unmarked: FormatSource | None = None) -> OtherFamilies | None:
    """Compile other families, once for each set.

    Args:
        also: Names of formats or format files, preferred in this order; "any": all formats. Empty: none.
        unmarked: The stream's own family, if its calls also count without their markers.

    Raises:
        UnknownFormatError: No format has this name.
        ArgumentError: A format has no calls, or `also` is neither a name nor a list of names.
    """
    if isinstance(also, (str, FormatSource)):
        also = [also]
    try:
        names = tuple(also)
    except TypeError:
        raise ArgumentError(
            f"also is of type {type(also).__name__}; pass names of formats, or 'any'"
        ) from None
    if not names and unmarked is None:
        return None
    if "any" in names:
        every = [source for source in sources() if source.has_tools]
        return _compile(tuple(sorted(every, key=_rank)), unmarked)
    found = []
    for name in names:
        if not isinstance(name, (str, FormatSource)):
            raise ArgumentError(f"also: {name!r} is no format; pass names of formats, or 'any'")
        source = find_source(name) if isinstance(name, str) else name
        if not source.has_tools:
            raise ArgumentError(f"also: format '{source.name}' has no calls; name one that has")
        found.append(source)
    return _compile(tuple(found), unmarked)


def _rank(source: FormatSource) -> tuple[int, str]:
    """A sort key: families with the most models and aliases come first, since the others often imitate them."""
    return -len(source.models) - len(source.aliases), source.name


@functools.lru_cache(maxsize=64)
def _compile(families: tuple[FormatSource, ...], unmarked: FormatSource | None) -> OtherFamilies:
    return OtherFamilies(list(families), unmarked)

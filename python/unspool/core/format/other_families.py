"""Other families whose calls a stream also reads (`also`).

Each set of families is compiled once, whichever streams use it: the ways of a stream's own family to write a call
without markers are compiled apart, and share the set.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from unspool._core import FormatSource, OtherFamilies
from unspool.core.format.registry import find_source, sources
from unspool.errors import ArgumentError

__all__ = ["Also", "compile_others", "read_families"]

Also = str | FormatSource | Sequence[str | FormatSource]


#: All families, each format of the package without markers, and as many again with all families.
_SIZE = 256


def compile_others(also: Also, unmarked: FormatSource | None = None) -> OtherFamilies | None:
    """Compile other families, once for each set.

    Args:
        also: Names of formats or format files, preferred in this order; "any": all formats. Empty: none.
        unmarked: The stream's own family, if its calls also count without their markers.

    Raises:
        UnknownFormatError, ArgumentError: As in `read_families`.
    """
    families = read_families(also)
    return _compile(families, unmarked) if families or unmarked is not None else None


def read_families(also: Also) -> tuple[FormatSource, ...]:
    """Return the formats that `also` names, in the order in which they are preferred.

    Args:
        also: See `compile_others`.

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
    if "any" in names:
        return tuple(sorted((source for source in sources() if source.has_tools), key=_rank))
    families = []
    for name in names:
        if not isinstance(name, (str, FormatSource)):
            raise ArgumentError(f"also: {name!r} is no format; pass names of formats, or 'any'")
        source = find_source(name) if isinstance(name, str) else name
        if not source.has_tools:
            raise ArgumentError(f"also: format '{source.name}' has no calls; name one that has")
        families.append(source)
    return tuple(families)


def _rank(source: FormatSource) -> tuple[int, str]:
    """A sort key: families with the most models and aliases come first, since the others often imitate them."""
    return -len(source.models) - len(source.aliases), source.name


@functools.lru_cache(maxsize=_SIZE)
def _compile(families: tuple[FormatSource, ...], unmarked: FormatSource | None) -> OtherFamilies:
    if unmarked is None:
        return OtherFamilies(list(families))
    return _compile(families, None).with_unmarked(unmarked)

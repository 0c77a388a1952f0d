"""Imports of packages that only a part of unspool needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["needs"]


@contextmanager
def needs(extra: str, *, only_if: str = "") -> Iterator[None]:
    """Wrap the imports of an extra's packages, so that the error for a missing one names what to install."""
    try:
        yield
    except ImportError as error:
        raise ImportError(f"{error}; pip install 'unspool[{extra}]'{only_if}", name=error.name) from None

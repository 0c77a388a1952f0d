"""Shows in a terminal that a command is at work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from unspool.core.needs import needs

__all__ = ["progress_bar", "spinner"]

T = TypeVar("T")


@contextmanager
def spinner(what: str) -> Iterator[None]:
    """A spinner on standard error, if that is a terminal; it is gone afterwards."""
    with needs("cli"):
        from rich.console import Console
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield


def progress_bar(items: Sequence[T], what: str) -> Iterable[T]:
    """The items, with a bar on standard error if that is a terminal and they are several."""
    with needs("cli"):
        from rich.console import Console
        from rich.progress import track
    console = Console(stderr=True)
    if len(items) < 2 or not console.is_terminal:
        return items
    return track(items, what, console=console, transient=True)

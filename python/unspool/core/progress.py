"""Progress displays for commands in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from unspool.core.needs import needs

__all__ = ["progress_bar", "spinner"]

T = TypeVar("T")


@contextmanager
def spinner(what: str) -> Iterator[None]:
    """Show a spinner on standard error, if that is a terminal, and remove it afterwards."""
    with needs("cli"):
        from rich.console import Console
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield


def progress_bar(items: Sequence[T], what: str) -> Iterable[T]:
    """Return the items; iterating shows a progress bar if there are several and standard error is a terminal."""
    with needs("cli"):
        from rich.console import Console
        from rich.progress import track
    console = Console(stderr=True)
    if len(items) < 2 or not console.is_terminal:
        return items
    return track(items, what, console=console, transient=True)

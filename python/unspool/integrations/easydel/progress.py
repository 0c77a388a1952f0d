"""Reports the progress of several prompts to a callback and on a bar."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from unspool.core.needs import needs

__all__ = ["ProgressCallback", "ProgressCounter"]

#: Called with (completed, total).
ProgressCallback = Callable[[int, int], object]

_log = logging.getLogger("unspool")


class ProgressCounter:
    """Counts completed prompts up to `total`. It is a context manager, whose end stops the bar.

    Args:
        callback: Called after each prompt. Its exceptions are logged and do not stop the count.
        shows_bar: Whether to draw a progress bar on standard error.
    """

    def __init__(self, total: int, callback: ProgressCallback | None = None, shows_bar: bool = False) -> None:
        self._total, self._callback, self._shows_bar = total, callback, shows_bar
        self._completed = 0
        self._bar: Any = None

    def __enter__(self) -> ProgressCounter:
        if self._shows_bar:
            self._bar = _make_bar()
            self._bar.add_task("prompts", total=self._total)
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self) -> None:
        """Count one more completed prompt."""
        self._completed += 1
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], advance=1, refresh=True)
        if self._callback is None:
            return
        try:
            self._callback(self._completed, self._total)
        except Exception:
            _log.exception("progress_callback raised at %d of %d", self._completed, self._total)


def _make_bar() -> Any:
    with needs("cli"):
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    # Without auto_refresh, no thread is started; these options keep sys.stdout as it is.
    redirects: Any = {"redirect_stdout": False, "redirect_stderr": False}
    return Progress(*columns, console=Console(stderr=True), auto_refresh=False, **redirects)

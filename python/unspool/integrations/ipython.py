"""An extension of IPython that shows lists of deltas in colours: `%load_ext unspool.integrations.ipython`.

Other objects of unspool need no extension.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unspool._core import Delta
from unspool.core.stream.message_html import deltas_html

__all__ = ["load_ipython_extension", "unload_ipython_extension"]


def load_ipython_extension(shell: Any) -> None:
    """Show lists and tuples of deltas in colours. IPython calls this."""
    for kind in (list, tuple):
        _html_of(shell).for_type(kind, _show)


def unload_ipython_extension(shell: Any) -> None:
    """Show them as text again."""
    for kind in (list, tuple):
        _html_of(shell).pop(kind, None)


def _html_of(shell: Any) -> Any:
    return shell.display_formatter.formatters["text/html"]


def _show(items: Sequence[Any]) -> str | None:
    """None, for anything else: IPython shows its text."""
    return deltas_html(items) if items and all(isinstance(item, Delta) for item in items) else None

"""Token ids in; text, reasoning and tool calls out, natively, as they arrive."""

from unspool._core import __version__

__all__ = ["__version__"]

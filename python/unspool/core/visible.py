"""Makes untrusted text safe to show: bounded, and without characters that move a cursor or change the direction."""

from __future__ import annotations

from unspool.errors import shorten

__all__ = ["shown", "visible"]


def visible(text: str, spaces: str = "\n\t") -> str:
    """Return the text with an escape in place of each invisible character, except those in `spaces`."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character in spaces else _escape(character)
        for character in text
    )


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()


def shown(text: str, most: int) -> str:
    """Return the text as `visible` does, shortened to about `most` characters; escapes can at most double that."""
    return shorten(visible(shorten(text, most)), 2 * most)

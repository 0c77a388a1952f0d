"""Untrusted text for the eye: bounded, and without characters that move a cursor or turn the direction."""

from __future__ import annotations

from unspool.errors import shorten

__all__ = ["shown", "visible"]


def visible(text: str, spaces: str = "\n\t") -> str:
    """The text with an escape in place of each character that cannot be seen, other than `spaces`."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character in spaces else _escape(character)
        for character in text
    )


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()


def shown(text: str, most: int) -> str:
    """`visible` and of bounded length, escapes included."""
    return shorten(visible(shorten(text, most)), 2 * most)

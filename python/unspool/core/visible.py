"""Untrusted text for the eye: bounded, and without characters that move a cursor or turn the direction."""

from __future__ import annotations

__all__ = ["COLORS", "cut", "shown", "visible"]

#: Of each kind of region: background and text in light, and in dark. The playground has the same in its style sheet.
COLORS: dict[str, tuple[str, str, str, str]] = {
    "reasoning": ("#ece5fb", "#4a2b93", "#32284f", "#cfc0ff"),
    "marker": ("#dfe4e4", "#4b5757", "#323b3b", "#adb9b9"),
    "name": ("#0f5fb8", "#ffffff", "#3f8fe6", "#04121f"),
    "arguments": ("#d5f0e4", "#0b5138", "#143c2d", "#9fe6c8"),
    "call": ("#e2edfa", "#28527f", "#1d3148", "#a9cbf0"),
    "malformed": ("#fde0dd", "#9c1c12", "#4d1f1c", "#ffb4ab"),
    "held": ("#fff0bf", "#6b4a00", "#4a3a08", "#ffe08a"),
}


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


def cut(text: str, most: int) -> str:
    """The text; of a long one its two ends, and how many characters are between them."""
    if len(text) <= most:
        return text
    head = most * 2 // 3
    tail = most - head
    return f"{text[:head]} … {len(text) - most:,} characters … {text[-tail:]}"


def shown(text: str, most: int) -> str:
    """`visible` and of bounded length, escapes included."""
    return cut(visible(cut(text, most)), 2 * most)

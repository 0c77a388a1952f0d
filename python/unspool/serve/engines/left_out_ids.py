"""Finds the ids that llama.cpp leaves out of its events: those of tokens that end within a character."""

from __future__ import annotations

from collections.abc import Sequence

from unspool._core import Vocabulary

__all__ = ["LeftOutIds"]

# Maximum length of a token that is looked up: hardly any longer token ends within a character.
_MOST_BYTES = 32
# Limits for one event, whatever the engine sends: bytes of text, and left-out tokens that are matched in exact number.
_MOST_TEXT = 1024
_MOST_COUNT = 16


class LeftOutIds:
    """Finds ids by their bytes.

    llama.cpp sends an event only when its text ends with a whole character. The text is that of all tokens since the
    previous event, but the ids are those of the last token alone.

    Args:
        vocabulary: The model's vocabulary.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._ids: dict[bytes, int] = {}
        for id in range(len(vocabulary)):
            if not vocabulary.is_added(id) and 0 < len(data := vocabulary.token_bytes(id)) <= _MOST_BYTES:
                self._ids.setdefault(data, id)

    def find(self, text: str, ids: Sequence[int], count: int) -> list[int]:
        """Return the ids that were left out before those of an event.

        Args:
            text: The event's text.
            ids: The event's ids.
            count: The number of ids that are left out. If no split of the bytes has this number of tokens, the
                result is shorter or longer.
        """
        data = text.encode("utf-8", "replace")
        own = b"".join(map(self._vocabulary.token_bytes, ids))
        shown = own.decode("utf-8", "replace")
        if own and data.endswith(own):
            data = data[: -len(own)]
        elif shown and text.endswith(shown):  # incomplete characters
            data = text[: -len(shown)].encode("utf-8", "replace")
        data = data[-min(_MOST_BYTES * count, _MOST_TEXT) :]
        return (self._split(data, count) if count <= _MOST_COUNT else []) or self._greedy(data)

    def _split(self, data: bytes, count: int) -> list[int]:
        """Split the bytes into exactly `count` tokens, the longest first; [] if that is impossible."""
        lengths = range(_MOST_BYTES, 0, -1)
        # For 0, 1, … tokens: the positions from which exactly that many tokens reach the end.
        places = [{len(data)}]
        for _ in range(count):
            behind = places[-1]
            places.append(
                {
                    at
                    for at in range(len(data))
                    if any(at + n in behind and data[at : at + n] in self._ids for n in lengths)
                }
            )
        if 0 not in places[count]:
            return []
        ids, at = [], 0
        for behind in reversed(places[:count]):
            length = next(n for n in lengths if at + n in behind and data[at : at + n] in self._ids)
            ids.append(self._ids[data[at : at + length]])
            at += length
        return ids

    def _greedy(self, data: bytes) -> list[int]:
        found = []
        while data:
            length = next((n for n in range(min(len(data), _MOST_BYTES), 0, -1) if data[:n] in self._ids), 0)
            if length:
                found.append(self._ids[data[:length]])
            data = data[length or 1 :]
        return found

"""Ids that llama.cpp leaves out: whatever a text is and however it was cut into tokens, its bytes come back."""

from __future__ import annotations

import pytest

pytest.importorskip("aiohttp")
from hypothesis import given
from hypothesis import strategies as st
from unspool import Vocabulary
from unspool.serve.engines.left_out_ids import LeftOutIds

WORDS = ["a", " ", "é".encode()[:1], " 漢".encode()[:2], "漢".encode()[1:], "🚀".encode()[:3], "ab"]
TOKENS = [bytes([byte]) for byte in range(256)]
TOKENS += [word if isinstance(word, bytes) else word.encode() for word in WORDS if len(word) > 1]
VOCABULARY = Vocabulary(
    {token: id for id, token in enumerate(TOKENS)}, [(len(TOKENS), "<m>", "<m>", True)], is_bytes=True
)
MARKER = len(TOKENS)
LEFT_OUT = LeftOutIds(VOCABULARY)


def events(ids: list[int]) -> list[tuple[str, list[int], int]]:
    """The text, the ids and the count of ids that are left out, of each event of llama.cpp."""
    made, waiting, count = [], b"", 0
    for id in ids:
        waiting += b"" if id == MARKER else TOKENS[id]
        count += 1
        try:
            text = waiting.decode()
        except UnicodeDecodeError as error:
            # llama.cpp waits where the last bytes begin a character.
            if error.end == len(waiting) and waiting[error.start] >= 0xC0 and len(waiting) - error.start < 4:
                continue
            text = waiting.decode(errors="replace")
        made.append((text, [id], count - 1))
        waiting, count = b"", 0
    return made


@given(st.text(alphabet="aé漢🚀 b", min_size=1), st.integers(0, 10**6))
def test_the_ids_have_the_bytes_of_the_text(text: str, seed: int) -> None:
    data, ids = text.encode(), []
    while data:
        fitting = [id for id, token in enumerate(TOKENS) if data.startswith(token)]
        seed, choice = divmod(seed, len(fitting)) if seed else (0, 0)
        ids.append(fitting[choice])
        data = data[len(TOKENS[ids[-1]]) :]
    found = [
        id
        for shown, own, count in events(ids)
        for id in [*(LEFT_OUT.find(shown, own, count) if count else []), *own]
    ]
    assert b"".join(TOKENS[id] for id in found) == text.encode()
    assert len(found) == len(ids)


@given(st.lists(st.integers(0, 255), max_size=12))
def test_broken_bytes_become_what_a_decoder_shows(data: list[int]) -> None:
    """The event shows a replacement in their place, and so do the ids."""
    for shown, own, count in events([*data, 97]):
        found = LEFT_OUT.find(shown, own, count) if count else []
        assert all(0 <= id < len(TOKENS) for id in found)
        text = b"".join(TOKENS[id] for id in [*found, *own]).decode(errors="replace")
        assert text.replace("�", "") == shown.replace("�", "")


def test_a_marker_behind_a_character_is_no_part_of_it() -> None:
    assert LEFT_OUT.find("é", [MARKER], 2) == [0xC3, 0xA9]
    assert LEFT_OUT.find("", [MARKER], 1) == []


def test_what_an_engine_says_costs_little() -> None:
    """It may send any text, and any count."""
    letters = Vocabulary({b"a" * size: size for size in range(2, 30, 2)} | {b"b": 1}, [], is_bytes=True)
    left_out = LeftOutIds(letters)
    for count in (1, 15, 16, 17, 1000, 10**9):
        for text in ("a" * 10**6 + "b", "a" * 999 + "b", "ab" * 5000):
            assert len(left_out.find(text, [1], count)) <= 1024

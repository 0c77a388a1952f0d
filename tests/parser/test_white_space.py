"""White space at the ends of content and reasoning: as the model wrote it, or none."""

from __future__ import annotations

import pytest
import unspool
from unspool.testing import byte_splits

TEXT = "<think>\n\n I think \n\n</think>\n\n \n It is \n<tool_call>\n{} \n</tool_call>\n\n so. \n"


def joined(deltas: list[unspool.Delta], *kinds: str) -> str:
    return "".join(delta.text for delta in deltas if delta.kind in kinds and delta.index is None)


def read(text: str, pieces: list[bytes], format: str, **options: object) -> unspool.Message:
    parser = unspool.Parser(format, id_seed=1, audit=True, **options)  # type: ignore[arg-type]
    deltas = [delta for piece in pieces for delta in parser.parse_chunk(piece)]
    message = parser.finish()
    deltas += message.deltas
    assert joined(deltas, "content", "malformed") == message.content
    assert joined(deltas, "reasoning") == message.reasoning
    assert "".join(piece for _, piece in message.audit) == text
    return message


def test_trimmed_texts_begin_and_end_with_text() -> None:
    call = '{"name": "get_weather", "arguments": {}}'
    text = TEXT.replace("{}", call)
    for pieces in byte_splits(text.encode()):
        message = read(text, pieces, "qwen3", white_space="trim")
        assert (message.reasoning, message.content) == ("I think", "It is \n\n so.")
        assert [name for name, piece in message.audit if piece == " \n" and name == "content"] == []


def test_white_space_alone_is_no_text() -> None:
    for pieces in byte_splits(b" \n \n"):
        message = read(" \n \n", pieces, "hermes", white_space="trim")
        assert message.content == ""
        assert message.audit == (("whitespace", " \n \n"),)


def test_white_space_waits_until_text_follows() -> None:
    parser = unspool.Parser("none", white_space="trim")
    assert [delta.text for delta in parser.parse_chunk("a  ")] == ["a"]
    assert parser.held == (b"  ", "space")
    assert [delta.text for delta in parser.parse_chunk("b")] == ["  b"]


@pytest.mark.parametrize("size", [7, 8, 9, 20])
def test_what_waits_is_bounded(size: int) -> None:
    text = "a" + " " * size
    for pieces in byte_splits(text.encode()):
        message = read(text, pieces, "none", white_space="trim", max_held_bytes=8)
        assert message.content == (text if size > 8 else "a")

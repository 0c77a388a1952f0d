"""With `white_space="trim"` content and reasoning lose the white space at their ends, and nothing else differs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from unspool import Message, Parser
from unspool.testing import pieces_of

from ..outputs import TOOLS, outputs

SPACE = " \t\r\n"


def read(pieces: list[bytes], format: str, **options: str) -> Message:
    parser = Parser(format, TOOLS, id_seed=1, audit=True, **options)  # type: ignore[arg-type]
    for piece in pieces:
        parser.parse_chunk(piece)
    return parser.finish()


@given(data=st.data())
def test_only_the_ends_differ(format: str, data: st.DataObject) -> None:
    raw = data.draw(outputs(format)).encode()
    kept = read([raw], format)
    cuts = data.draw(st.lists(st.integers(0, len(raw)), max_size=6))
    trimmed = read(pieces_of(raw, cuts), format, white_space="trim")
    assert "".join(text for _, text in trimmed.audit).encode() == raw
    assert trimmed.reasoning == kept.reasoning.strip(SPACE)
    assert trimmed.content.strip(SPACE) == kept.content.strip(SPACE)
    if all(item.index is not None for item in kept.malformed):
        assert trimmed.content == kept.content.strip(SPACE)
    assert [(call.name, call.arguments) for call in trimmed.tool_calls] == [
        (call.name, call.arguments) for call in kept.tool_calls
    ]

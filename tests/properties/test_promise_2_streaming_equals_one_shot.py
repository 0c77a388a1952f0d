"""The deltas of any split add up to the message of one call."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from unspool import Parser, parse
from unspool.testing import pieces_of

from ..outputs import TOOLS, outputs


@given(data=st.data())
def test_deltas_add_up(format: str, data: st.DataObject) -> None:
    output = data.draw(outputs(format)).encode()
    cuts = data.draw(st.lists(st.integers(0, len(output)), max_size=6))
    parser = Parser(format, TOOLS, id_seed=3)
    deltas = [delta for piece in pieces_of(output, cuts) for delta in parser.parse_chunk(piece)]
    deltas += parser.finish("length").deltas
    message = parse(output, format, TOOLS, finish_reason="length", id_seed=3)

    def text(kind: str, index: int | None = None) -> str:
        return "".join(d.text for d in deltas if d.kind == kind and d.index == index)

    content = "".join(d.text for d in deltas if d.is_content)
    assert content == message.content
    assert text("reasoning") == message.reasoning
    begins = [delta for delta in deltas if delta.kind == "tool_call_begin"]
    ends = {delta.index: delta.status for delta in deltas if delta.kind == "tool_call_end"}
    assert [delta.index for delta in begins] == list(range(len(message.tool_calls)))
    for begin, call in zip(begins, message.tool_calls, strict=True):
        assert (begin.id, begin.name) == (call.id, call.name)
        assert text("tool_call_arguments", begin.index) == call.arguments
        assert ends[begin.index] == call.status
    assert [delta.kind for delta in deltas].count("finish") == 1
    assert deltas[-1].finish_reason == message.finish_reason

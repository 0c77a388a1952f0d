"""Deltas come in the order in which the model wrote them."""

from __future__ import annotations

from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st
from unspool import Parser
from unspool.testing import pieces_of

from ..outputs import TOOLS, outputs

KIND = {
    "content": "content",
    "reasoning": "reasoning",
    "tool_call_begin": "tool_call",
    "tool_call_arguments": "tool_call",
    "tool_call_end": "tool_call",
}


@given(data=st.data())
def test_regions_come_in_order(format: str, data: st.DataObject) -> None:
    raw = data.draw(outputs(format)).encode()
    parser = Parser(format, TOOLS, audit=True)
    pieces = pieces_of(raw, data.draw(st.lists(st.integers(0, len(raw)), max_size=6)))
    deltas = [delta for piece in pieces for delta in parser.parse_chunk(piece)]
    message = parser.finish()
    deltas += message.deltas
    shown = [KIND[delta.kind] for delta in deltas if delta.kind in KIND]
    written = [fate for fate, _ in message.audit if fate in KIND.values()]
    order = [kind for kind, _ in groupby(shown)]
    fates = iter(kind for kind, _ in groupby(written))
    # Malformed text parts regions in one list and not in the other: the deltas' order must be found
    # within the order of writing.
    assert all(any(kind == fate for fate in fates) for kind in order), (order, written)
    indices = [delta.index for delta in deltas if delta.index is not None and delta.kind in KIND]
    assert indices == sorted(indices)

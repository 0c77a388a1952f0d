"""The deltas of response templates keep the wire's rules too."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unspool import Format, Parser, WireWriter
from unspool.testing import pieces_of
from unspool.testing.wire import assemble, differences

from .templates import CASES, TOOLS, Case


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@given(data=st.data())
def test_any_output(case: Case, data: st.DataObject) -> None:
    soup = st.lists(st.sampled_from(case.pieces), max_size=12).map("".join)
    output = data.draw(st.sampled_from(case.outputs) | soup)
    output = output[: data.draw(st.integers(0, len(output)))] if data.draw(st.booleans()) else output
    cuts = data.draw(st.lists(st.integers(0, len(output)), max_size=4))
    parser = Parser(Format.from_response_template(case.template), TOOLS)
    batches = [parser.parse_chunk(piece) for piece in pieces_of(output.encode(), cuts)]
    message = parser.finish(data.draw(st.sampled_from(["stop", "length"])))
    batches.append(list(message.deltas))
    for protocol in ("chat_completions", "responses", "messages"):
        writer = WireWriter(protocol, model="m")
        wire = b"".join(writer.write(batch) for batch in batches) + writer.end()
        (answer,) = assemble(protocol, wire)
        assert not (found := differences(protocol, answer, message)), (protocol, found)

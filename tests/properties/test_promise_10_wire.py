"""Every protocol's stream keeps the rules that clients need, and holds the message."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from unspool import Parser, WireWriter
from unspool.testing import pieces_of
from unspool.testing.wire import assemble, differences, read_events

from ..outputs import TOOLS, outputs

PROTOCOLS = ["chat_completions", "completions", "responses", "messages", "open_inference", "google"]


@given(data=st.data())
def test_any_output_in_any_batches(format: str, data: st.DataObject) -> None:
    """Valid, cut off, mutated and random outputs, whatever the deltas of one write are."""
    output = data.draw(outputs(format)).encode()
    reason = data.draw(st.sampled_from(["stop", "length", "error", "cancelled"]))
    policy = data.draw(st.sampled_from(["forward", "content", "drop-with-report"]))
    cuts = data.draw(st.lists(st.integers(0, len(output)), max_size=6))
    usage, summary = data.draw(st.booleans()), data.draw(st.booleans())
    parser = Parser(format, TOOLS, unknown_tools=policy)
    batches = [parser.parse_chunk(piece) for piece in pieces_of(output, cuts)]
    message = parser.finish(reason)
    batches.append(list(message.deltas))
    for protocol in PROTOCOLS:
        writer = WireWriter(
            protocol,
            model="m",
            include_usage=usage,
            reasoning_events="summary" if summary else "text",
        )
        wire = writer.begin() + b"".join(writer.write(batch) for batch in batches) + writer.end()
        options: dict[str, Any] = {"include_usage": usage}
        if protocol in ("responses", "messages", "google"):
            options = {"summary": summary} if protocol == "responses" else {}
        if protocol == "responses" and reason == "error":
            assert read_events(wire)[-1][0] == "response.failed"
            continue
        (answer,) = assemble(protocol, wire, **options)
        assert not (found := differences(protocol, answer, message)), (protocol, found)
        whole = WireWriter(protocol, model="m", stream=False)
        for batch in batches:
            whole.write(batch)
        json.loads(whole.body())

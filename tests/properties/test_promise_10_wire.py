"""Every protocol's stream keeps the rules that clients need, and holds the message."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

import unspool
from hypothesis import given
from hypothesis import strategies as st
from unspool import Parser, WireWriter
from unspool.testing import pieces_of, shipped_cases
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


def damaged(format: str) -> Iterator[tuple[str, Any]]:
    """The cases' outputs with a character before one of the last markers, and the end once more."""
    markers = [marker.strip() for marker in unspool.get_format(format).facts.markers]
    pattern = "|".join(re.escape(marker) for marker in sorted(filter(None, markers), key=len, reverse=True))
    for case in shipped_cases(format):
        places = [match.start() for match in re.finditer(f"{pattern}|(?<=}})", case.input)][-4:]
        again = [*places, case.input.rfind('{"')]
        for place, begin, stray in itertools.product(places, again, ("", "|", "}")):
            yield case.input[:place] + stray + case.input[place:] + "\n" + case.input[begin:], case.tools


def test_a_call_has_one_end(format: str) -> None:
    for output, tools in damaged(format):
        parser = Parser(format, tools or None, repair=True)
        deltas = parser.parse_chunk(output)
        deltas += parser.finish().deltas
        ends = [delta.index for delta in deltas if delta.kind == "tool_call_end"]
        assert ends == list(range(len(ends))), output
        WireWriter("chat_completions", model="m").write(deltas)

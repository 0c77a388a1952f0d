"""Events of arguments, replayed, build the arguments; what is final stays; and a split moves borders of fragments only."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from unspool import ArgumentEvent, ArgumentReader, Parser, PartialArguments
from unspool.testing import pieces_of

from ..outputs import TOOLS, outputs

Value = tuple[int, tuple[Any, ...], str, bool, str]


def joined(events: list[ArgumentEvent]) -> list[Value]:
    """With the fragments of each string as one."""
    made: list[Value] = []
    for event in events:
        text = event.text
        if made and made[-1][:3] == (event.call, event.path, "string") and not made[-1][3]:
            text = made.pop()[4] + text
        made.append((event.call, event.path, event.kind, event.is_final, text))
    return made


def in_utf8(value: Any) -> Any:
    """The value with each half of a surrogate pair as its escape: an event's text is UTF-8."""
    if isinstance(value, str):
        return re.sub(r"[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", value)
    if isinstance(value, list):
        return [in_utf8(item) for item in value]
    if isinstance(value, dict):
        return {in_utf8(key): in_utf8(item) for key, item in value.items()}
    return value


@given(data=st.data())
def test_events_build_the_arguments(format: str, data: st.DataObject) -> None:
    raw = data.draw(outputs(format)).encode()
    cuts = data.draw(st.lists(st.integers(0, len(raw)), max_size=6))
    parser, partial, events, seen = Parser(format, TOOLS), PartialArguments(), [], dict[Any, Any]()
    for piece in pieces_of(raw, cuts):
        events += partial.put(parser.parse_chunk(piece))
    message = parser.finish()
    events += partial.put(message.deltas)

    for number, call in enumerate(message.tool_calls):
        if call.is_complete:
            assert partial.value(call=number) == in_utf8(json.loads(call.arguments))
    for event in events:
        place = event.call, event.path
        assert not event.path or (event.call, event.path[:-1]) in seen, (
            "a parent is opened before its members"
        )
        if event.is_final:
            assert seen.get(place) is not True, "each path is final once"
            seen[place] = True
        else:
            seen.setdefault(place, False)
        is_open = [path for (call, path), is_final in seen.items() if call == event.call and not is_final]
        if event.is_final:
            assert not any(len(path) > len(event.path) for path in is_open), "parents are final after members"

    whole = Parser(format, TOOLS).parse(raw)
    assert joined(events) == joined(ArgumentReader().put(whole.deltas))


@settings(max_examples=5)
@given(data=st.data())
def test_what_is_final_at_a_prefix_stays(format: str, data: st.DataObject) -> None:
    """Over every prefix of an output that has calls."""
    raw = data.draw(outputs(format)).encode()
    parser, partial = Parser(format, TOOLS), PartialArguments()
    known: dict[tuple[int, tuple[Any, ...]], str] = {}
    for i in range(len(raw)):
        for event in partial.put(parser.parse_chunk(raw[i : i + 1])):
            if event.is_final:
                value = json.dumps(partial.value(event.path, call=event.call))
                assert known.setdefault((event.call, event.path), value) == value
    message = parser.finish()
    partial.put(message.deltas)
    for (number, path), value in known.items():
        if message.tool_calls[number].is_complete:
            found = json.loads(message.tool_calls[number].arguments)
            for step in path:
                found = found[step]
            assert json.dumps(found) == value

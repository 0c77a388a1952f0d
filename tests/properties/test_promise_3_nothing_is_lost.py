"""Every byte is in the content, the reasoning, a call, a marker, or white space that is markup."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st
from unspool import Parser, get_format
from unspool.testing import pieces_of

from ..outputs import TOOLS, outputs


def is_content(content: str, audit: Iterable[tuple[str, str]]) -> bool:
    """Whether the content is what the audit calls so, in order, and between it some of what is malformed."""
    places = {0}
    for fate, text in audit:
        if fate == "content":
            places = {place + len(text) for place in places if content.startswith(text, place)}
        elif fate == "malformed":  # one span may hold a call's rest, and what was announced as no call
            for letter in text:
                places |= {place + 1 for place in places if content.startswith(letter, place)}
    return len(content) in places


@given(data=st.data())
def test_every_byte_has_a_fate(format: str, data: st.DataObject) -> None:
    output = data.draw(outputs(format))
    tools = data.draw(st.sampled_from([TOOLS, None, []]))
    raw = output.encode()
    parser = Parser(format, tools, audit=True)
    for piece in pieces_of(raw, data.draw(st.lists(st.integers(0, len(raw)), max_size=6))):
        parser.parse_chunk(piece)
    message = parser.finish(data.draw(st.sampled_from(["stop", "length", "error"])))
    assert "".join(text for _, text in message.audit) == output
    fates: dict[str, list[str]] = {}
    for fate, text in message.audit:
        fates.setdefault(fate, []).append(text)
    assert "".join(fates.get("reasoning", [])) == message.reasoning
    unannounced = [item.text for item in message.malformed if item.in_content]
    assert is_content(message.content, message.audit)
    assert len(message.content) == len("".join(fates.get("content", []))) + len("".join(unannounced))
    assert len("".join(fates.get("malformed", []))) <= len("".join(i.text for i in message.malformed))
    assert not "".join(fates.get("whitespace", [])).strip(" \t\r\n,;")
    # What is called a marker is one, with the white space that its template writes around it.
    facts = get_format(format).facts
    markers = sorted(facts.markers, key=len, reverse=True)
    for text in fates.get("marker", []):
        left = text
        for marker in (marker for marker in markers if "```" in marker.lstrip("`")):
            left = left.replace(marker, " ")
        left = re.sub(r"```[\w+. \t-]*", "", left)
        for marker in markers:
            left = left.replace(marker, " ").replace(marker.strip(), " ")
        assert facts.headers or not left.strip(" \t\r\n[]`,;"), text


@given(data=st.data())
def test_invalid_utf8_becomes_replacement_characters(format: str, data: st.DataObject) -> None:
    raw = data.draw(st.binary(max_size=40) | outputs(format).map(lambda text: text.encode()[1:-1]))
    parser = Parser(format, TOOLS, audit=True)
    for piece in pieces_of(raw, data.draw(st.lists(st.integers(0, len(raw)), max_size=6))):
        parser.parse_chunk(piece)
    message = parser.finish()
    assert "".join(text for _, text in message.audit) == raw.decode("utf-8", "replace")

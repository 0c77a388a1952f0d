"""`also="any"`: what a call in another family's way leaves in the content, over all pairs of formats."""

from __future__ import annotations

from typing import Any

import pytest
import unspool

CITY: dict[str, Any] = {"city": {"type": "string"}}
DAYS: dict[str, Any] = {"days": {"type": "integer"}}
ARGUMENTS = {"city": "Paris", "days": 3}
# Families whose call begins in a header that the prompt begins: with the rest of it alone, what they wrote stays, and
# Beam's call is text. A space stands before Phi-4 mini's word.
WITHOUT_THEIR_HEADER = {"beam", "hyperclovax", "muse", "phi4_mini_json"}
# Pairs of the other families in which text is left, or the host reads the call for a broken one of its own.
MOST_OTHERS = 45


def tools(*parameters: dict[str, Any]) -> list[dict[str, Any]]:
    properties = {key: value for each in parameters for key, value in each.items()}
    return [{"name": "get_weather", "parameters": {"type": "object", "properties": properties}}]


def written(file: unspool.FormatFile) -> tuple[str, list[dict[str, Any]]]:
    """One call as the family writes it, and the tools that it fits."""
    for offered in (tools(CITY, DAYS), tools(CITY)):
        given = {key: ARGUMENTS[key] for key in offered[0]["parameters"]["properties"]}
        message = {"tool_calls": [{"function": {"name": "get_weather", "arguments": given}}]}
        try:
            return file.render(message, tools=offered), offered
        except unspool.ArgumentError:
            continue  # a family with one parameter
    raise AssertionError(file.name)


@pytest.mark.filterwarnings("ignore:the content has")
def test_pairs_leave_no_text() -> None:
    kept = []
    for writer in unspool.formats():
        if not writer.has_tools:
            continue
        text, offered = written(writer)
        for host in unspool.formats():
            if host.name == writer.name:
                continue
            parser = unspool.Parser(host.name, offered, also="any", start_in="content")
            parser.parse_chunk(text)
            message = parser.finish()
            if message.content or [call.is_complete for call in message.tool_calls] != [True]:
                kept.append((host.name, writer.name, message.content))
    others = [pair for pair in kept if pair[1] not in WITHOUT_THEIR_HEADER]
    assert len(others) <= MOST_OTHERS, others

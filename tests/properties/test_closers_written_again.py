"""A call's closer that is written once more, right after the call, is markup and shows in nothing."""

from __future__ import annotations

import pytest
import unspool
from unspool import FormatFile, Message
from unspool.testing import byte_splits

from ..outputs import render

TOOLS = [
    {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
]
CALL = ("get_weather", {"city": "Paris"})


def closers_of(file: FormatFile) -> list[str]:
    """The closers of calls, and of all calls, in a rendered call. A fence is none: it may open a block."""
    answer = render(file, "", "", [CALL])
    closers = {*file.facts.section_closers, *(text for call in file.facts.calls for text in call.closers)}
    return sorted(text for text in closers if text in answer and not text.startswith("```"))


def read(file: FormatFile, pieces: list[bytes]) -> Message:
    parser = unspool.Parser(file, TOOLS, id_seed=1, start_in="content")
    for piece in pieces:
        parser.parse_chunk(piece)
    return parser.finish()


CASES = [
    pytest.param(file, closer, id=f"{file.name}: {closer}")
    for file in unspool.formats()
    if file.has_tools
    for closer in closers_of(file)
]


@pytest.mark.parametrize("after", ["", "\nDone."])
@pytest.mark.parametrize(("file", "closer"), CASES)
def test_a_closer_written_again_shows_in_nothing(file: FormatFile, closer: str, after: str) -> None:
    answer = render(file, "", "", [CALL])
    end = answer.rindex(closer) + len(closer)
    expected = read(file, [(answer + after).encode()])
    output = answer[:end] + "\n" + closer + answer[end:] + after
    for pieces in byte_splits(output.encode()):
        message = read(file, list(pieces))
        assert message.tool_calls == expected.tool_calls
        assert message.content.strip() == expected.content.strip()
        assert message.malformed == expected.malformed

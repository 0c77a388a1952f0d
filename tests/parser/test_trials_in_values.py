"""A value with two readings inside a call that is on trial itself."""

from __future__ import annotations

import pytest
import unspool

REHEARSED = (
    "\n<function=f><parameter=y><parameter></parameter></function>o<tool_call>4</function>",
    "<tool_call><function=f><parameter=y></think><function=now</function>",
)


@pytest.mark.parametrize("output", REHEARSED)
@pytest.mark.parametrize("reason", ["stop", "length"])
@pytest.mark.parametrize("limit", [8, 20, 1 << 20])
def test_the_end_decides_both(output: str, reason: str, limit: int) -> None:
    messages = []
    for pieces in ([output], list(output)):
        parser = unspool.Parser("step3p5", max_held_bytes=limit, audit=True, id_seed=1)
        for piece in pieces:
            parser.parse_chunk(piece)
        messages.append(parser.finish(reason))
    whole, letters = messages
    assert "".join(text for _, text in whole.audit) == output
    assert (whole.content, whole.reasoning, whole.tool_calls) == (
        letters.content,
        letters.reasoning,
        letters.tool_calls,
    )

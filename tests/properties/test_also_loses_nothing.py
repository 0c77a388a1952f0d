"""Text behind another family's call, which begins a call that does not count."""

from __future__ import annotations

import re

import pytest
import unspool
from unspool import Parser

from .test_law_9_other_families import samples

pytestmark = pytest.mark.filterwarnings("ignore:the content has")


def begins_of_markers(format: str, output: str) -> list[int]:
    markers = {marker.strip() for marker in unspool.get_format(format).facts.markers} - {""}
    pattern = "|".join(re.escape(marker) for marker in sorted(markers, key=len, reverse=True))
    return [match.start() for match in re.finditer(pattern, output)] if markers else []


def test_a_call_that_does_not_count_is_text(format: str) -> None:
    """With and without an audit; the first call may lack its closers, the second one names no tool."""
    host = "qwen3_coder" if format in ("hermes", "qwen3") else "hermes"
    for case, calls in samples(format)[:1]:
        places = begins_of_markers(format, case.input)
        nameless = case.input.replace(calls[-1][0], "other")
        outputs = {
            case.input[:end] + nameless[begin : begin + size]
            for end in (*places[-5:], len(case.input))
            for begin in (0, *places[:3])
            for size in range(0, 100, 4)
        }
        for output in sorted(outputs):
            messages = []
            for options in ({}, {"audit": True}):
                parser = Parser(host, case.tools, also=[format], id_seed=1, start_in="content", **options)
                parser.parse_chunk(output)
                messages.append(parser.finish())
            plain, audited = messages
            assert plain.content == audited.content, output
            assert plain.tool_calls == audited.tool_calls, output
            assert "".join(text for _, text in audited.audit) == output
            # A header before a text is markup in the other family too.
            said = [text for fate, text in audited.audit if fate == "marker"]
            said += [plain.content, *(call.name + call.arguments for call in plain.tool_calls)]
            assert ("other" in output) <= ("other" in "".join(said)), output

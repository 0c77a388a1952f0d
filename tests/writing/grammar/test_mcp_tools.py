"""The tools of MCP servers: each format's grammar of them compiles in each engine, and its walks are read."""

from __future__ import annotations

import random
from typing import Any

import pytest
import unspool

from .law import faults
from .matchers import LlguidanceMatcher, Matcher, XgrammarMatcher
from .mcp_tools import MCP_TOOLS
from .tools import fragments_of
from .walks import Walker

FORMATS = [file.name for file in unspool.formats() if file.has_tools]
#: How many of the tools a format cannot write, and says so: cwm's calls have one value, without a key.
UNWRITABLE = {"cwm": 9}


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("name", FORMATS)
def test_calls_of_mcp_tools_are_read(name: str) -> None:
    file = unspool.get_format(name)
    tools = [tool for tool in MCP_TOOLS if _can_write(file, tool)]
    assert len(MCP_TOOLS) - len(tools) == UNWRITABLE.get(name, 0)
    fragments, rng = fragments_of(file, tools), random.Random(name)
    for syntax in ("lark", "structural_tag"):
        grammar = file.grammar(tools, tool_choice="required", syntax=syntax)  # type: ignore[arg-type]
        is_lark = syntax == "lark"
        matcher: Matcher = (
            LlguidanceMatcher(grammar.text) if is_lark else XgrammarMatcher(grammar.text, syntax)
        )
        for text in (Walker(matcher, fragments, rng).walk(200) for _ in range(3 if is_lark else 1)):
            if text is not None:
                assert faults(file, text, tools, True, bool(grammar.dropped)) == [], text


def _can_write(file: unspool.FormatFile, tool: dict[str, Any]) -> bool:
    try:
        return bool(file.grammar([tool], tool_choice="required").text)
    except unspool.ArgumentError:
        return False

"""A custom tool's text matches its grammar inside every family's envelope, and is read back."""

from __future__ import annotations

import itertools
import json
import random
import re
from typing import Any

import pytest
import unspool
from unspool import ArgumentError

from .tools import fragments_of
from .walks import Walker

#: Of the shape of Codex's apply_patch: lines after markers, optional parts, a rule for the rest of a line.
PATCH = """
start: opened change+ closed
opened: "<<< patch" LF
closed: ">>> end" LF?
change: added | removed | edited
added: "new file: " path LF line+
removed: "delete file: " path LF
edited: "edit file: " path LF moved? hunk?
moved: "move to: " path LF
hunk: (place | row)+ last?
place: ("@@" | "@@ " /(.+)/) LF
row: ("+" | "-" | " ") /(.*)/ LF
last: "<<< end of file" LF
path: /(.+)/
line: "+" /(.*)/ LF -> line
%import common.LF
"""
PATCH_TEXT = re.compile(
    r"<<< patch\n(new file: .+\n(\+.*\n)+|delete file: .+\n"
    r"|edit file: .+\n(move to: .+\n)?((@@|@@ .+|[+\- ].*)\n)*(<<< end of file\n)?)+>>> end\n?"
)
CODE = r'[a-z]+ = "(.|\n)*"'
PARTS = [
    b"<<< patch",
    b"\n>>> end",
    b"\\n>>> end",
    b'\\""',
    b"delete file: ",
    b"new file: x\n+y\n",
    b'"\\\t</b>',
]


def lark(text: str = PATCH) -> dict[str, Any]:
    """As chat completions nest it."""
    format = {"type": "grammar", "grammar": {"syntax": "lark", "definition": text}}
    return {
        "type": "custom",
        "custom": {"name": "apply_patch", "description": "Edits files.", "format": format},
    }


def regex(pattern: str = CODE) -> dict[str, Any]:
    """As Responses write it."""
    return {
        "type": "custom",
        "name": "run",
        "format": {"type": "grammar", "syntax": "regex", "definition": pattern},
    }


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize(
    "file", [file for file in unspool.formats() if file.has_tools], ids=lambda file: file.name
)
@pytest.mark.parametrize(
    ("tool", "text"), [(lark(), PATCH_TEXT), (regex(), re.compile(CODE))], ids=["lark", "regex"]
)
def test_the_text_matches_and_is_read_back(
    file: unspool.FormatFile, tool: dict[str, Any], text: re.Pattern[str]
) -> None:
    grammar = file.grammar([tool], tool_choice="required", reasoning=False)
    walker = Walker.of(grammar.text, [*fragments_of(file, []), *PARTS], random.Random(file.name))
    walks = (walker.walk(120) for _ in range(60))
    found = list(itertools.islice((one for one in walks if one is not None), 4))
    assert found, "no walk came to an end"
    for output in found:
        message = unspool.parse(output, file, [tool])
        assert message.tool_calls, output
        assert not message.malformed, output
        for call in message.tool_calls:
            assert call.is_complete, output
            assert not call.violations
            if not grammar.dropped:
                assert text.fullmatch(json.loads(call.arguments)["input"]), output
    if grammar.dropped:
        assert file.name == "minicpm5", "only entities are a reason not to constrain it"


def test_text_of_any_kind() -> None:
    tool = {"type": "custom", "custom": {"name": "note", "format": {"type": "text"}}}
    for name in ("hermes", "qwen3_coder", "pythonic"):
        file = unspool.get_format(name)
        grammar = file.grammar([tool], tool_choice="required", reasoning=False, parallel=False)
        walker = Walker.of(grammar.text, fragments_of(file, []), random.Random(1))
        output = next(one for _ in range(60) if (one := walker.walk(80)) is not None)
        (call,) = unspool.parse(output, file, [tool]).tool_calls
        assert isinstance(json.loads(call.arguments)["input"], str)


@pytest.mark.parametrize("tool", [lark("start: x"), regex("(?=a)"), lark("start: start")])
def test_a_definition_that_cannot_be_read_is_refused(tool: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=r"^the (grammar|regex) cannot be read|without end"):
        unspool.get_format("hermes").grammar([tool])


@pytest.mark.parametrize("format", [{"type": "ebnf"}, {"type": "grammar", "syntax": "lark"}, "lark"])
def test_a_format_of_another_kind_is_refused(format: Any) -> None:
    with pytest.raises(ArgumentError, match="the format of 'x'"):
        unspool.get_format("hermes").grammar([{"type": "custom", "name": "x", "format": format}])


def test_a_literal_that_spells_a_marker_is_escaped_in_json_and_listed_beside_tags() -> None:
    tool = lark('start: "a</parameter>b"')
    assert unspool.get_format("hermes").grammar([tool]).dropped == ()
    (dropped,) = set(unspool.get_format("qwen3_coder").grammar([tool]).dropped)
    assert (dropped.keyword, dropped.path) == ("format", "apply_patch#")
    assert "</parameter>" in dropped.reason

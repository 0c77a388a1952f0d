"""What the grammar of a format admits is read, whatever stands beside its values."""

from __future__ import annotations

import itertools
import json
import random

import pytest
import unspool
from unspool import FormatFile

from .tools import fragments_of
from .walks import Walker

CALL = r'call = "\n<c>${name}:\n${parameters}</c>"'
TOOLS = [
    {
        "name": "f",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "days": {"type": "integer"},
                "kind": {"enum": ["a b", "c"]},
                "any": {"type": ["string", "boolean"]},
            },
            "required": ["city"],
            "additionalProperties": False,
        },
    }
]


@pytest.mark.parametrize(
    "parameter",
    [
        r"#${key} = ${value}!;\n",
        r"#${key}=${value} !;\n",
        r"#${key} = ${value}\n",
        r"${key} := ${value}\n",
        "<${key}>${value}</${key}>",
    ],
)
def test_what_is_admitted_is_read(parameter: str) -> None:
    file = FormatFile(f'name = "mine"\n{CALL}\nparameter = "{parameter}"\nend = "<end>"\n', "mine.toml")
    grammar = file.grammar(TOOLS, tool_choice="required")
    walker = Walker.of(grammar.text, fragments_of(file, TOOLS), random.Random(parameter))
    walks = (walker.walk(60) for _ in range(80))
    texts = list(itertools.islice((text for text in walks if text is not None), 20))
    assert texts, "no walk came to an end"
    for text in texts:
        message = unspool.parse(text, file, TOOLS)
        assert message.tool_calls, text
        assert not message.malformed, text
        for call in message.tool_calls:
            assert call.is_complete, text
            assert not call.violations, (text, call.arguments)
            assert "city" in json.loads(call.arguments), text

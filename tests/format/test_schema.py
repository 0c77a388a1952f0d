"""The JSON Schema for editors says what the reader reads."""

from __future__ import annotations

import sys
from importlib.resources import files
from typing import Any

import pytest
from unspool.core.format.format_schema import format_schema
from unspool.errors import FormatError
from unspool.formats.format_file import FormatFile

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

jsonschema = pytest.importorskip("jsonschema")


def fits(data: dict[str, Any]) -> bool:
    return bool(jsonschema.Draft202012Validator(format_schema()).is_valid(data))


def test_shipped_files_fit() -> None:
    entries = [entry for entry in (files("unspool") / "parsers").iterdir() if entry.name.endswith(".toml")]
    assert len(entries) >= 66
    for entry in entries:
        assert fits(tomllib.loads(entry.read_text(encoding="utf-8"))), entry.name


@pytest.mark.parametrize(
    "line",
    [
        'cal = "x"',
        "models = 3",
        'models = [""]',
        'turn = ""',
        "end = []",
        "parameter = 1",
        "[detect]\nnamed = 3",
        '[detect]\nnames = "x"',
        "[detect]\ntemplate = [[]]",
        "[[example]]\ninpt = 3",
        "[example]\ninput = 'x'",
    ],
)
def test_what_the_schema_refuses_the_reader_refuses(line: str) -> None:
    text = f'name = "x"\ncall = "<c>${{object}}</c>"\n{line}\n'
    assert not fits(tomllib.loads(text))
    with pytest.raises(FormatError):
        FormatFile(text)

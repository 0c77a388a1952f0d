"""Compiled formats are cached by the file they come from, whatever its name and its memory's address."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
import unspool
from unspool import Vocabulary
from unspool.formats.format_file import FormatFile, read_format

FORMAT = """
name = "mine"
call = "<call{n}>${object}</call{n}>"
"""


def write(folder: Path, number: int) -> FormatFile:
    path = folder / "mine.toml"
    path.write_text(FORMAT.replace("{n}", str(number)))
    return read_format(path)


@pytest.mark.parametrize("vocabulary", [None, Vocabulary({"a": 0}, [])])
def test_formats_of_one_name_that_come_and_go(tmp_path: Path, vocabulary: Vocabulary | None) -> None:
    for number in range(40):
        text = f'<call{number}>{{"name": "f", "arguments": {{}}}}</call{number}>'
        message = unspool.parse(text, write(tmp_path, number), tokenizer=vocabulary)
        assert [call.name for call in message.tool_calls] == ["f"], number
        gc.collect(1)


def test_equal_files_are_compiled_once(tmp_path: Path) -> None:
    from unspool.core.format.compile_format import compile_format

    file = write(tmp_path, 1)
    assert compile_format(file) is compile_format(write(tmp_path, 1))
    assert compile_format(file) is not compile_format(write(tmp_path, 2))

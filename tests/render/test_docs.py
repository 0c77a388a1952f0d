"""The page on rendering: each block of Python runs, and prints what stands below it."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "render.md"
BLOCK = re.compile(r"```python\n(.*?)```\n\n```\n(.*?)```", re.S)
pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="runs in a checkout")


def test_the_pages_blocks_print_what_it_says() -> None:
    page = PAGE.read_text(encoding="utf-8")
    blocks = BLOCK.findall(page)
    assert len(blocks) == page.count("```python") == 4
    for code, printed in blocks:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(code, PAGE.name, "exec"), {})
        assert output.getvalue() == printed

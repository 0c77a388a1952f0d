"""docs/wire-shapes.md shows what is written."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
from unspool.testing.wire import assemble, read_events

from .answers import PROTOCOLS

DOCS = Path(__file__).parents[2] / "docs"
pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="runs in a checkout")


def test_examples_are_made_by_running() -> None:
    spec = importlib.util.spec_from_file_location("make_wire_shapes", DOCS / "make_wire_shapes.py")
    assert spec
    assert spec.loader
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    page = (DOCS / "wire-shapes.md").read_text(encoding="utf-8")
    assert page == maker.make(), "run python docs/make_wire_shapes.py"
    assert re.findall(r'```text title="(\w+)"\n.', page) == PROTOCOLS
    for protocol in PROTOCOLS:
        options = {} if protocol in ("responses", "messages", "google") else {"include_usage": True}
        (answer,) = assemble(protocol, maker.example(protocol).encode(), **options)
        assert answer.content == "Let me look."


def test_the_code_runs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (DOCS / "wire-shapes.md").read_text(encoding="utf-8"), re.S)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert read_events(done.stdout.encode())[-1] == (None, "[DONE]")

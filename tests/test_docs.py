"""The documentation says what the format files say, and every name of another stack resolves."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
import unspool

DOCS = Path(__file__).parents[1] / "docs"
pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="runs in a checkout")


def load_maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_formats", DOCS / "make_formats.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_formats_page_is_made_from_the_files() -> None:
    made = load_maker().make()
    assert (DOCS / "formats.md").read_text(encoding="utf-8") == made, "run python docs/make_formats.py"


def test_the_page_of_examples_is_made_from_the_files() -> None:
    page = (DOCS / "formats-by-example.md").read_text(encoding="utf-8")
    assert load_maker().examples_page() == page, "run python docs/make_formats.py"


def test_the_tables_of_words_are_made_from_the_core() -> None:
    page = (DOCS / "add-a-format.md").read_text(encoding="utf-8")
    assert "`${object}`" in page
    assert load_maker().with_words(page) == page, "run python docs/make_formats.py"


def test_every_name_of_another_stack_resolves() -> None:
    for stack, kinds in load_maker().stack_names().items():
        for name in kinds["tools"]:
            assert name in ("hf", "response_template") or unspool.get_format(name).has_tools, (stack, name)
        for name in kinds["reasoning"]:
            if name not in ("hf", "response_template"):
                file = unspool.get_format(name)
                assert file.has_reasoning or file.is_plain, (stack, name)

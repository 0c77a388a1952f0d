"""The documentation says what the format files say, and every name of another stack resolves."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest
import unspool
from unspool.formats.format_file import FormatFile, read_format
from unspool.testing import assert_format, parse_cases
from unspool.testing.check_file import check_file, sample_faults

from .scripts import load_script

DOCS = Path(__file__).parents[1] / "docs"
pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="runs in a checkout")


def load_maker(name: str = "make_formats") -> ModuleType:
    return load_script(DOCS / f"{name}.py")


def test_formats_page_is_made_from_the_files() -> None:
    made = load_maker().make()
    assert (DOCS / "formats.md").read_text(encoding="utf-8") == made, "run python docs/make_formats.py"


def test_the_page_of_tolerances_is_made_from_their_cases() -> None:
    made = load_maker("make_tolerances").make()
    assert (DOCS / "tolerances.md").read_text(encoding="utf-8") == made, "run python docs/make_tolerances.py"


def test_the_page_of_commands_is_made_from_their_help() -> None:
    pytest.importorskip("starlette")  # the options of `unspool serve` are made from the server's settings
    made = load_maker("make_command_line").make()
    assert (DOCS / "command-line.md").read_text(encoding="utf-8") == made, (
        "run python docs/make_command_line.py"
    )


def test_the_table_of_the_servers_options_is_made_from_them() -> None:
    pytest.importorskip("starlette")
    page = (DOCS / "server.md").read_text(encoding="utf-8")
    assert "| `max_queue` | `--max-queue` | `100` |" in page
    assert load_maker("make_command_line").with_options(page) == page, "run python docs/make_command_line.py"


def test_the_page_of_agents_is_made_from_what_runs() -> None:
    made = load_maker("make_agents").make()
    assert (DOCS / "agents.md").read_text(encoding="utf-8") == made, "run python docs/make_agents.py"


def test_the_page_of_examples_is_made_from_the_files() -> None:
    page = (DOCS / "formats-by-example.md").read_text(encoding="utf-8")
    assert load_maker().examples_page() == page, "run python docs/make_formats.py"


def test_the_tables_of_words_are_made_from_the_core() -> None:
    page = (DOCS / "add-a-format.md").read_text(encoding="utf-8")
    assert "`${object}`" in page
    assert load_maker().with_words(page) == page, "run python docs/make_formats.py"


def test_the_sample_of_the_page_on_adding_a_format_passes(tmp_path: Path) -> None:
    page = (DOCS / "add-a-format.md").read_text(encoding="utf-8")
    path = tmp_path / "my_model.toml"
    path.write_text(block_after(page, "<!-- sample:"), encoding="utf-8")
    assert check_file(path) == []
    cases = parse_cases(block_after(page, "## Cases"))
    assert cases
    for case in cases:
        assert_format(read_format(path), case)


def test_the_common_patterns_are_read_back() -> None:
    """Each row of the page's table is a file; a row that adds to another one stands after it."""
    page = (DOCS / "add-a-format.md").read_text(encoding="utf-8")
    rows = re.search(r"\| the model writes \| the pattern \|\n\|---\|---\|\n((?:\|.*\n)+)", page)
    assert rows
    call: list[str] = []
    for number, row in enumerate(rows[1].splitlines()):
        keys = re.findall(r"`((?:call|calls|parameter|object|content) = .*?)`(?=,| \|)", row)
        assert keys, row
        starts = {key.split(" ")[0] for key in keys}
        call = [key for key in call if key.split(" ")[0] not in starts] if "call" not in starts else []
        call += keys
        text = f'name = "row{number}"\n' + "\n".join(call) + "\n"
        file = FormatFile(text if "call = " in text else text + 'call = "<c>${object}</c>"\n')
        assert sample_faults(file, row) == []


def block_after(page: str, heading: str) -> str:
    """The first block of TOML after a text."""
    found = re.search(r"```toml\n(.*?)```", page[page.index(heading) :], re.S)
    assert found
    return found[1]


def test_every_name_of_another_stack_resolves() -> None:
    for stack, kinds in load_maker().stack_names().items():
        for kind, names in kinds.items():
            for name in set(names) - {"hf", "response_template", "auto"}:
                file = unspool.get_format(name)
                has_kind = file.has_tools if kind == "tools" else file.has_reasoning
                assert has_kind or file.is_plain, (stack, kind, name)

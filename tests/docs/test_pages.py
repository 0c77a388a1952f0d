"""Each page states the extras that its blocks need, and they run with those alone."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ..environments import PROJECT, ROOT, chosen_distributions, clean_variables, make_environment
from ..scripts import load_script

DOCS = ROOT / "docs"
pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="runs in a checkout")


def load_maker(name: str) -> ModuleType:
    return load_script(DOCS / f"{name}.py")


install = load_maker("install") if DOCS.is_dir() else None
BLOCK = re.compile(
    r"(?:<!-- (not run: |run by |a file of its own)(.*?) -->\n\n)?^```python\n(.*?)^```$(?:\n\n^```\n(.*?)^```$)?",
    re.M | re.S,
)
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.M | re.S)
COMMAND = re.compile(r"^(?:.*&& |\$ )?(unspool|vllm|sglang|mlserver) ([\w-]+)", re.M)
TEXTS = {
    path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in sorted(DOCS.rglob("*.md"))
}
PAGES = {name: text for name, text in TEXTS.items() if "```python\n" in text}
SHELL = {
    name: "".join(code for language, code in FENCE.findall(text) if language in ("", "bash", "sh", "console"))
    for name, text in TEXTS.items()
}
#: Pages whose blocks need a model or a server: a test makes it, perhaps with other packages, and finds the blocks in the page.
TESTS = {
    "easydel.md": "integrations/easydel/test_docs.py",
    "generation.md": "generation/test_docs.py::test_the_page",
    "mlserver.md": "integrations/test_mlserver_docs.py",
    "opentelemetry.md": "generation/test_docs.py::test_the_page_on_opentelemetry",
    "openvino.md": "integrations/test_openvino_page.py::test_the_blocks_run, with gguf, tokenizers",
    "ray.md": "integrations/test_ray.py::test_the_pages_blocks_run",
    "server.md": "serve/test_docs.py::test_the_codes_examples_run",
    "transformers.md": "integrations/test_transformers.py::test_the_pages_first_block"
    " tests/integrations/test_transformers.py::test_the_pages_other_blocks",
}
#: What a page takes from its reader: files, and a block before the first one.
FILES = {
    "add-a-format.md": {"my_model.toml": "<!-- sample:", "my_model_cases.toml": "## Cases"},
}
GIVEN = {
    "grammar.md": """
import unspool
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast
from unspool.testing.marker_tokenizer import END, marker_tokenizer

tokenizer = Tokenizer.from_str(marker_tokenizer(unspool.get_format("qwen3_coder")).to_str())
call = "<tool_call>\\n<function=get_weather>\\n<parameter=city>\\nParis\\n</parameter>\\n</function>\\n</tool_call>"
ids = iter([id for letter in call for id in tokenizer.encode(letter).ids])  # the grammar knows no tokenizer

def sample(_, mask):
    allowed = [id for id in range(8 * len(mask)) if mask[id // 8] >> id % 8 & 1]
    id = next(ids, allowed[-1])  # the last one ends the answer
    assert id in allowed
    return id

tokenizer, logits = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END), None
""",
    "how-it-works.md": """
import unspool
from unspool.testing.marker_tokenizer import marker_tokenizer

vocabulary, drafted, chosen = marker_tokenizer(unspool.get_format("qwen3")).vocabulary, [65, 66, 67], [68]
""",
}
#: Blocks that no test runs, with the reason that the page gives in a comment.
NOT_RUN = {("grammar.md", "needs a server of llama.cpp"), ("ray.md", "needs GPUs and vLLM")}
RUN_BLOCKS = """
import json, sys
names = {"__name__": "page"}
for code in json.load(sys.stdin):
    exec(compile(code, "the page", "exec"), names)
    print(end="\\0", flush=True)
"""
#: What the tests need beside what a page states.
TOOLS = ["pytest", "pytest-xdist", "pytest-timeout", "hypothesis", "httpx"]


def block_after(page: str, heading: str) -> str:
    """The first block of TOML after a text."""
    found = re.search(r"```toml\n(.*?)```", page[page.index(heading) :], re.S)
    assert found
    return found[1]


def test_each_page_with_something_to_run_states_its_extras() -> None:
    stated = {name: install.front_matter(text) for name, text in TEXTS.items()}
    running = {name for name, text in TEXTS.items() if name in PAGES or COMMAND.search(SHELL[name])}
    assert running - {name for name, found in stated.items() if found} == set()
    for name, found in stated.items():
        assert TEXTS[name].startswith("---") == bool(found), f"{name}: write it as in other pages"
        assert set(found[0] if found else ()) <= set(PROJECT["optional-dependencies"]), name


def test_the_story_of_the_install_is_one() -> None:
    for path in install.pages():
        text = path.read_text(encoding="utf-8")
        assert install.rewritten(text) == text, f"{path.name}: run python docs/install.py"


@pytest.mark.parametrize("name", sorted(PAGES.keys() - TESTS.keys()))
def test_the_blocks_of_a_page_run(name: str, tmp_path: Path) -> None:
    """They are one program, and each prints the block without a language after it."""
    for file, heading in FILES.get(name, {}).items():
        (tmp_path / file).write_text(block_after(PAGES[name], heading), encoding="utf-8")
    python, missing = environment(tmp_path, *install.front_matter(PAGES[name]))
    found = BLOCK.findall(PAGES[name])
    program = [(code, printed) for how, _, code, printed in found if not how]
    files = [[(code, printed)] for how, _, code, printed in found if how == "a file of its own"]
    for blocks in filter(None, [program, *files]):
        given = json.dumps([GIVEN.get(name, ""), *(code for code, _ in blocks)])
        done = run([python, "-c", RUN_BLOCKS], python, tmp_path, input=given)
        check(done, missing)
        _, *outputs, rest = re.sub(r"call_\w{24}", "call_…", done.stdout).split("\0")
        assert rest == ""
        for (code, printed), output in zip(blocks, outputs, strict=True):
            if printed:
                assert output == printed, code


def by_tests() -> list[tuple[str, str, list[str]]]:
    """A page, a test of it, and what this test runs with."""
    found = []
    for name, text in PAGES.items():
        if name in TESTS:
            test, _, needed = TESTS[name].partition(", with ")
            extras, packages = install.front_matter(text)
            found.append((name, f"tests/{test}", [*extras, *packages, *re.findall(r"[^ ,]+", needed)]))
        for how, what, _, _ in BLOCK.findall(text):
            if how == "run by ":
                test, _, needed = what.partition(", with ")
                found.append((name, test, re.findall(r"[^ ,]+", needed)))
    return [one for number, one in enumerate(found) if one not in found[:number]]


@pytest.mark.rest
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("name", "test", "needed"), by_tests(), ids=str)
def test_the_blocks_that_a_test_runs(name: str, test: str, needed: list[str], tmp_path: Path) -> None:
    assert name in (ROOT / test.partition("::")[0]).read_text(encoding="utf-8")
    extras = [one for one in needed if one in PROJECT["optional-dependencies"]]
    python, missing = environment(tmp_path, extras, [*set(needed) - {*extras}, *TOOLS])
    options = ["-q", "-n", "0", "-p", "no:cacheprovider"]
    done = run([python, "-m", "pytest", *options, *test.split()], python, ROOT)
    check(done, missing)
    assert missing or "skipped" not in done.stdout, done.stdout


def environment(folder: Path, extras: list[str], packages: list[str]) -> tuple[Path, set[str]]:
    """Its interpreter, and what it lacks since it is not installed here."""
    wanted = [f"unspool[{','.join(extras)}]", *packages]
    return make_environment(folder / "environment", wanted), chosen_distributions(wanted)[1]


def run(
    command: list[str | Path], python: Path, folder: Path, **options: Any
) -> subprocess.CompletedProcess[str]:
    variables = clean_variables(python)
    return subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env=variables, check=False, **options
    )


def check(done: subprocess.CompletedProcess[str], missing: set[str]) -> None:
    if done.returncode and missing:
        pytest.skip(f"not installed here: {', '.join(sorted(missing))}")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", [name for name, text in SHELL.items() if COMMAND.search(text)])
def test_the_commands_of_a_page_are_there(name: str, tmp_path: Path) -> None:
    """Also with what a block installs by itself. `serve` loads what it serves with after its options."""
    extras, packages = install.front_matter(TEXTS[name])
    installed = re.findall(r"pip install '\S*\[([\w,]+)\]'", SHELL[name])
    python, missing = environment(tmp_path, [*extras, *installed], packages)
    found = {command for program, command in COMMAND.findall(SHELL[name]) if program == "unspool"}
    for command in found:
        check(run([python.with_name("unspool"), command, "--help"], python, tmp_path), missing)
        if command in ("serve", "playground"):
            check(run([python, "-c", "import unspool.serve"], python, tmp_path), missing)


def test_every_block_of_every_page_is_run() -> None:
    not_run = set()
    for name, text in PAGES.items():
        blocks = BLOCK.findall(text)
        assert len(blocks) == text.count("```python\n"), name
        not_run |= {(name, what) for how, what, _, _ in blocks if how == "not run: "}
    assert not_run == NOT_RUN

"""The documentation says what the format files say, and every name of another stack resolves."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
import unspool
from unspool.formats.format_file import FormatFile, read_format
from unspool.testing import assert_format, parse_cases
from unspool.testing.check_file import check_file, sample_faults

DOCS = Path(__file__).parents[1] / "docs"
pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="runs in a checkout")


def load_maker(name: str = "make_formats") -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_formats_page_is_made_from_the_files() -> None:
    made = load_maker().make()
    assert (DOCS / "formats.md").read_text(encoding="utf-8") == made, "run python docs/make_formats.py"


def test_the_page_of_tolerances_is_made_from_their_cases() -> None:
    made = load_maker("make_tolerances").make()
    assert (DOCS / "tolerances.md").read_text(encoding="utf-8") == made, "run python docs/make_tolerances.py"


def test_the_page_of_commands_is_made_from_their_help() -> None:
    pytest.importorskip("click")
    made = load_maker("make_command_line").make()
    assert (DOCS / "command-line.md").read_text(encoding="utf-8") == made, (
        "run python docs/make_command_line.py"
    )


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
        for name in kinds["tools"]:
            assert name in ("hf", "response_template") or unspool.get_format(name).has_tools, (stack, name)
        for name in kinds["reasoning"]:
            if name not in ("hf", "response_template"):
                file = unspool.get_format(name)
                assert file.has_reasoning or file.is_plain, (stack, name)


def test_the_page_on_training_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """Its blocks are one program."""
    page = (DOCS / "training.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.S)
    assert len(blocks) == page.count("```") / 2
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "docs/training.md", "exec"), names)
    printed = capsys.readouterr().out.splitlines()
    assert "content None () 'Let me look.'" in printed
    assert "name 0 () 'weather'" in printed
    assert "arguments 0 ('city',) '\"Paris\"'" in printed
    assert printed[-1].startswith("end None () '<|im_end|>")


#: Pages whose blocks a test elsewhere runs: it reads the page by name.
RUN_ELSEWHERE = {
    "add-a-format.md": "test_docs.py",
    "easydel.md": "integrations/easydel/test_docs.py",
    "generation.md": "generation/test_docs.py",
    "mlserver.md": "integrations/test_mlserver_docs.py",
    "opentelemetry.md": "engines/test_telemetry.py",
    "openvino.md": "integrations/test_openvino_page.py",
    "ray.md": "integrations/test_ray.py",
    "render.md": "render/test_docs.py",
    "server.md": "serve/test_docs.py",
    "stream-batch.md": "stream/test_engine_steps.py",
    "training.md": "test_docs.py",
    "transformers.md": "integrations/test_transformers.py",
    "wire-shapes.md": "wire/test_docs.py",
}
#: Blocks that no test runs, with the reason that the page gives in a comment.
NOT_RUN = {("grammar.md", "needs a server of llama.cpp"), ("ray.md", "needs GPUs and vLLM")}
BLOCK = re.compile(
    r"(?:<!-- (not run|run by)[: ] ?(.*?) -->\n\n)?^```python\n(.*?)^```$(?:\n\n^```\n(.*?)^```$)?",
    re.M | re.S,
)
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if "```python\n" in path.read_text(encoding="utf-8")]
HERE = [path.name for path in PAGES if path.name not in RUN_ELSEWHERE]


@pytest.mark.parametrize("name", HERE)
def test_the_blocks_of_a_page_run(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are one program, and each prints the block without a language after it."""
    monkeypatch.chdir(tmp_path)
    names = given(name)
    for how, _, code, printed in BLOCK.findall((DOCS / name).read_text(encoding="utf-8")):
        if how:
            continue
        exec(compile(code, f"docs/{name}", "exec"), names)
        found = re.sub(r"call_\w{24}", "call_…", capsys.readouterr().out)
        if printed:
            assert found == printed, code


def given(name: str) -> dict[str, object]:
    """The names that a page's blocks take from their reader."""
    if name == "learn.md":
        pytest.importorskip("jinja2")
    pytest.importorskip("tokenizers")
    from unspool.testing.marker_tokenizer import END, marker_tokenizer

    if name == "how-it-works.md":
        tokenizer = marker_tokenizer(unspool.get_format("qwen3"))
        vocabulary = unspool.Vocabulary.from_tokenizer(tokenizer)
        return {"unspool": unspool, "vocabulary": vocabulary, "drafted": [65, 66, 67], "chosen": [68]}
    if name == "grammar.md":
        for package in ("llguidance", "xgrammar", "transformers"):
            pytest.importorskip(package)
        from transformers import PreTrainedTokenizerFast

        tokenizer = marker_tokenizer(unspool.get_format("qwen3_coder"))
        call = "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n</function>\n</tool_call>"
        letters = [
            id for letter in call for id in tokenizer.encode(letter).ids
        ]  # the grammar is made without a tokenizer
        ids = iter(letters)

        def sample(_: object, mask: bytes) -> int:
            allowed = [id for id in range(8 * len(mask)) if mask[id // 8] >> id % 8 & 1]
            id = next(ids, allowed[-1])  # the last one ends the answer
            assert id in allowed
            return id

        fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END)
        return {"tokenizer": fast, "sample": sample, "logits": None}
    return {}


def test_every_block_of_every_page_is_run() -> None:
    tests = Path(__file__).parent
    not_run = set()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        blocks = BLOCK.findall(text)
        assert len(blocks) == text.count("```python\n"), page
        for how, what, code, _ in blocks:
            if how == "not run":
                not_run.add((page.name, what))
            elif how == "run by":
                assert page.name in (tests.parent / what).read_text(encoding="utf-8"), (page, code)
    assert not_run == NOT_RUN
    for page_name, test in RUN_ELSEWHERE.items():
        assert page_name in (tests / test).read_text(encoding="utf-8"), page_name
    assert {path.name for path in PAGES} == {*HERE, *RUN_ELSEWHERE}

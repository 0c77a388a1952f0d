"""The benchmark's command runs, at sizes that say nothing about speed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

RUN = Path(__file__).parents[1] / "bench" / "run.py"
OURS = ("ours", "ours_batch", "ours_batch_each")
pytestmark = [
    pytest.mark.skipif(not RUN.is_file(), reason="runs in a checkout"),
    pytest.mark.timeout(300),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one run wrote."""
    pytest.importorskip("numpy")
    pytest.importorskip("tokenizers")
    out = tmp_path_factory.mktemp("bench")
    peers = ",".join((*OURS, "empty_call", "no_such_peer"))
    command = [sys.executable, str(RUN), "--quick", "--out", str(out), "--peers", peers]
    sections = ["--sections", "streams,growth,worst,threads,set-up,memory,instructions"]
    done = subprocess.run([*command, *sections], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="module")
def cells(folder: Path) -> list[dict[str, Any]]:
    return list(json.loads((folder / "results.json").read_text())["cells"])


@pytest.mark.rest
def test_every_answer_of_ours_is_right(cells: list[dict[str, Any]]) -> None:
    wrong = [cell for cell in cells if cell["status"] != "ok"]
    assert wrong == []


@pytest.mark.rest
def test_every_section_has_figures_of_ours(cells: list[dict[str, Any]]) -> None:
    sections = {"streams", "growth", "worst", "threads", "set-up"}
    if shutil.which("cc") and sys.platform == "linux" and "LD_PRELOAD" not in os.environ:
        sections.add("memory")
    assert {cell["section"] for cell in cells if cell["peer"] in OURS} == sections


@pytest.mark.rest
def test_a_step_of_a_batch_allocates_nothing_for_a_token(cells: list[dict[str, Any]]) -> None:
    found = [c["allocations"] for c in cells if c["peer"] == "ours_batch" and c["section"] == "memory"]
    if not found:
        pytest.skip("allocations are not counted here")
    assert max(found) < 0.5  # a call's own objects, shared by 64 streams


@pytest.mark.rest
def test_the_table_names_what_is_missing(folder: Path) -> None:
    table = (folder / "results.md").read_text()
    assert "Skipped: no_such_peer (ModuleNotFoundError" in table
    assert "| ids to SSE, hermes | **unspool StreamBatch** |" in table


@pytest.fixture
def harness(monkeypatch: pytest.MonkeyPatch) -> None:
    """bench/harness can be imported."""
    monkeypatch.syspath_prepend(str(RUN.parent))


@pytest.mark.usefixtures("harness")
@pytest.mark.parametrize("format", ["text", "hermes", "llama3_json", "qwen3_coder", "deepseek_v4"])
def test_an_input_has_the_tokens_that_its_column_says(format: str) -> None:
    pytest.importorskip("tokenizers")
    from harness import real_tokenizers, workloads

    load = workloads.make(format, 200, variant=3)
    text = real_tokenizers.of("deepseek").source.decode(load.ids, skip_special_tokens=False)
    assert len(load.ids) == load.tokens == 200
    assert "".join(load.pieces) == text
    assert (load.arguments == "") == (format == "text")


@pytest.mark.usefixtures("harness")
def test_a_wrong_answer_is_named() -> None:
    from harness.answers import difference

    call = '{"a": [1, 2]}'
    assert difference((" I look.\n", '{"a":[1,2]}'), "I look.", call) == ""
    assert difference(("I look.", ""), "I look.", call) == "no call"
    assert difference(("", call), "", "") == "a call that is none"
    assert difference(("I look", call), "I look.", call) == "other content"
    assert difference(("", '{"a": [2, 1]}'), "", call) == "other arguments"
    assert difference(("", '{"a": [1, 2'), "", call) == "arguments that are no JSON"


COUNTS = """
from harness import counts
from harness.workloads import Load
from peers import Stream, each

def make(load):
    held, last = [bytes(10_000)], [None]
    def step(i):
        if i == 0:
            held.append(bytes(20_000))
        last[0] = bytes(100 + i)
        return bytes(1000)
    return Stream(step, None, 100)

print(*counts.of_work(each(make), [Load("text", [0] * 100, []) for _ in range(50)]).values())
"""


@pytest.mark.skipif(sys.platform != "linux" or not shutil.which("cc"), reason="needs Linux and a C compiler")
@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="another library is in malloc's place")
@pytest.mark.usefixtures("harness")
def test_bytes_and_allocations_are_counted(tmp_path: Path) -> None:
    from harness import counts

    environment = {**counts.environment(tmp_path), "PYTHONPATH": str(RUN.parent)}
    command = [sys.executable, "-c", COUNTS]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    fresh, fed, allocations = map(float, done.stdout.split())
    assert 10_000 < fresh < 12_000
    assert 30_000 < fed < 32_500
    assert allocations == pytest.approx(2, abs=0.1)

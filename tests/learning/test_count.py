"""The program that counts what is learnt."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .templates import template_of

pytest.importorskip("jinja2")
PROGRAM = Path(__file__).parents[2] / "bench" / "conformance" / "learn_templates.py"
pytestmark = pytest.mark.skipif(not PROGRAM.is_file(), reason="runs in a checkout")


@pytest.mark.parametrize("options", [(), ("--renamed",)])
def test_the_table(tmp_path: Path, options: tuple[str, ...]) -> None:
    right = template_of("elements", "tags")
    wrong = right.replace("m.reasoning_content }}", "m.reasoning_content | upper }}")
    for name, text in (
        ("right", right),
        ("refused", wrong),
        ("plain", "{% for m in messages %}{{ m.content }}{% endfor %}"),
    ):
        (tmp_path / f"{name}.jinja").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(tmp_path), *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    rows = {line.split(" | ")[0].strip("| "): line.split(" | ")[1] for line in done.stdout.splitlines()[2:-1]}
    assert rows["right"] == "right"
    assert "plain" not in rows
    assert rows["refused"] == "refused"


def test_the_table_of_what_is_written_again(tmp_path: Path) -> None:
    program = PROGRAM.with_name("render_learnt.py")
    for name in ("an object", "elements"):
        (tmp_path / f"{name.replace(' ', '_')}.jinja").write_text(template_of(name, "tags"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(program), str(tmp_path), "--show"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    rows = [
        [part.strip() for part in line.strip("| ").split("|")]
        for line in done.stdout.splitlines()
        if line.startswith("| ")
    ]
    assert rows[0] == ["template", "equal", "white space", "different", "refused"]
    (name, *counts), (other, *others) = rows[1:]
    assert (name, other) == ("an_object", "elements")
    assert int(counts[0]) >= 6
    assert counts[2:] == ["0", "0"], "only white space differs"
    assert others[1] == others[3] == "0", "lists and objects differ: they have elements"

"""What we give to others who test formats: `unspool check`, `assert_format`, the pytest plugin."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import unspool
from unspool.format_check import check_file
from unspool.testing import Case, assert_format, example_cases, parse_cases, shipped_cases

GOOD = """name = "mine"
call = "<call>${object}</call>"

[[example]]
input = 'Hi.<call>{"name": "f", "arguments": {"a": 1}}</call>'
content = "Hi."
calls = [{ name = "f", arguments = '{"a": 1}' }]
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.format.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_good_file_has_no_faults(tmp_path: Path) -> None:
    assert check_file(write(tmp_path, GOOD)) == []


@pytest.mark.parametrize(
    ("old", "new", "place", "what"),
    [
        ("call = ", "calll = ", "2:1", "calll: unknown key"),
        ("${object}", "${yaml}", "2:1", "use one of reasoning, content"),
        ("[[example]]", "[[exampel]]", "4:3", "exampel: unknown key"),
        ("name = ", "nmae = ", "1:1", "nmae: unknown key"),
        ('content = "Hi."', 'content = "Ho."', "4", "expected 'Ho.'"),
        ('{ name = "f"', '{ name = "g"', "4", "found    [('f'"),
        ('{ name = "f"', '{ nme = "f"', "4", "a call is a table with two texts"),
        (""", arguments = '{"a": 1}'""", "", "4", "got {'name': 'f'}"),
        ("""'{"a": 1}' }]""", "{ a = 1 } }]", "4", "a call is a table with two texts"),
        ("calls =", 'tools = [{ name = "f", parameters = "{" }]\ncalls =', "4", "tool 'f' are not JSON"),
        ("calls =", "tools = [{}]\ncalls =", "4", "a tool needs a name"),
        ('"<call>${object}</call>"', "3", "2:1", "must be a text"),
        ('</call>"', "</call>", "2:31", "not TOML"),
        ("<call>${object}</call>", "<call>${name}</call>", "2:1", "a call has no ${arguments}"),
    ],
)
def test_a_fault_is_reported_with_its_line(tmp_path: Path, old: str, new: str, place: str, what: str) -> None:
    (fault,) = check_file(write(tmp_path, GOOD.replace(old, new, 1)))
    assert fault.startswith(f"mine.format.toml:{place}:"), fault
    assert what in fault


def test_a_sample_that_is_not_read_back_is_a_fault(tmp_path: Path) -> None:
    text = GOOD.replace(
        '"<call>${object}</call>"', '"<call>${object}</call>"\nreasoning = "<call>${reasoning}</r>"'
    )
    text = text[: text.index("[[example]]")] + '[[example]]\ninput = "Hi"\ncontent = "Hi"\n'
    (fault,) = check_file(write(tmp_path, text))
    assert fault.startswith("mine.format.toml:1: a sample is not read back: '<call>"), fault


def test_an_end_that_begins_with_another_marker_is_a_fault(tmp_path: Path) -> None:
    text = GOOD.replace("\n[[example]]", 'reasoning = "<r>${reasoning}</r>"\nend = "<r>end"\n[[example]]')
    (fault,) = check_file(write(tmp_path, text))
    assert "the reasoning 'I think.end'" in fault, fault


def test_a_file_without_an_example_is_reported(tmp_path: Path) -> None:
    (fault,) = check_file(write(tmp_path, GOOD[: GOOD.index("[[example]]")]))
    assert "no example. Append [[example]] with input" in fault


def test_a_quoted_hole_of_an_object_is_a_fault(tmp_path: Path) -> None:
    object_ = """object = '{"tool": "${name}", "input": ${arguments}}'\n"""
    (fault,) = check_file(write(tmp_path, GOOD.replace("\n[[example]]", f"{object_}[[example]]")))
    assert fault.startswith("mine.format.toml:3: object: write ${name} without quotes"), fault


def test_reasoning_that_the_sample_loses_is_a_fault(tmp_path: Path) -> None:
    text = GOOD.replace("\n[[example]]", 'reasoning = "<r>${reasoning}think"\n[[example]]')
    (fault,) = check_file(write(tmp_path, text))
    assert "the reasoning 'I ' and the content '.think'" in fault, fault


def test_the_command(tmp_path: Path) -> None:
    good = write(tmp_path, GOOD)
    bad = tmp_path / "bad.toml"
    bad.write_text(GOOD.replace('"Hi."', '"Ho."'), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "unspool", "check", str(good), str(bad)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert f"{good}: ok" in done.stdout
    assert "bad.toml:4:" in done.stderr


def test_assert_format_names_the_split_and_the_difference() -> None:
    file = unspool.get_format("hermes")
    (case,) = example_cases(file)
    assert_format(file, case)
    with pytest.raises(AssertionError, match=r"cut into .*\n  content: expected 'x'"):
        assert_format("hermes", replace(case, content="x"))


def test_shipped_cases_are_package_data() -> None:
    every = shipped_cases()
    assert len(every) >= 500
    assert {case.format for case in every} == {file.name for file in unspool.formats()}
    assert {case.format for case in shipped_cases("qwen25")} == {"hermes"}


def test_cases_from_text() -> None:
    (case,) = parse_cases('format = "hermes"\n[[case]]\nname = "a"\ninput = "Hi"\ncontent = "Hi"\n')
    assert isinstance(case, Case)
    assert_format("hermes", case)
    with pytest.raises(ValueError, match="unknown keys"):
        parse_cases('format = "hermes"\n[[case]]\nname = "a"\ninput = "Hi"\ncontents = "Hi"\n')


def test_pytest_collects_format_files(tmp_path: Path) -> None:
    write(tmp_path, GOOD + GOOD[GOOD.index("[[example]]") :].replace('"Hi."', '"Ho."'))
    package = str(Path(unspool.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "unspool.testing.plugin", str(tmp_path)],
        capture_output=True, text=True, check=False, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": package, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )  # fmt: skip
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "expected 'Ho.'" in done.stdout

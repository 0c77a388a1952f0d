"""What we give to others who test formats: `unspool check`, `assert_format`, the pytest plugin."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import unspool
from unspool.testing import Case, assert_format, example_cases, parse_cases, shipped_cases
from unspool.testing.check_file import check_file

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
        ("calls =", 'tools = [{ name = "f", paramters = {} }]\ncalls =', "4", "unknown key 'paramters'"),
        ('name = "f",', 'name = "f", statu = "x",', "4", "a call has the unknown key 'statu'"),
        ("content =", "contents =", "6:1", "example[0].contents: unknown key; use one of input, content"),
        ("input =", "prompt =", "4:1", "example[0]: the key input is missing"),
        ('"<call>${object}</call>"', "3", "2:1", "must be a text"),
        ('</call>"', "</call>", "2:31", "not TOML"),
        ("<call>${object}</call>", "<call>${name}</call>", "2:1", "a call has no ${arguments}"),
    ],
)
def test_a_fault_is_reported_with_its_line(tmp_path: Path, old: str, new: str, place: str, what: str) -> None:
    (fault,) = check_file(write(tmp_path, GOOD.replace(old, new, 1)))
    assert f"/mine.format.toml:{place}:" in fault, fault
    assert what in fault


def test_a_sample_that_is_not_read_back_is_a_fault(tmp_path: Path) -> None:
    text = GOOD.replace(
        '"<call>${object}</call>"', '"<call>${object}</call>"\nreasoning = "<call>${reasoning}</r>"'
    )
    text = text[: text.index("[[example]]")] + '[[example]]\ninput = "Hi"\ncontent = "Hi"\n'
    (fault,) = check_file(write(tmp_path, text))
    assert "/mine.format.toml:2: a sample is not read back: '<call>" in fault, fault


def test_an_end_that_begins_with_another_marker_is_a_fault(tmp_path: Path) -> None:
    text = GOOD.replace("\n[[example]]", 'reasoning = "<r>${reasoning}</r>"\nend = "<r>end"\n[[example]]')
    (fault,) = check_file(write(tmp_path, text))
    assert "the reasoning 'I think.end'" in fault, fault


@pytest.mark.parametrize(
    ("keys", "place", "what"),
    [
        ('parameter = "<p>${key}=${value}</p>"', "4:1", "parameter: no call has ${parameters}"),
        ('object = \'{"n": ${name}, "a": ${arguments}}\'\ncall = "<c>${name}${arguments}</c>"', "4:1",
         "object: no call has ${object}"),
        ('string = "<q>${value}<q>"', "4:1", "string: no call has ${arguments}"),
        ('call = "<c>${object:xml}</c>"', "4:1", "call: ${object} does not have the option 'xml'"),
        ('call = "<c>${name:2}${arguments}</c>"', "4:1", "remove it: this hole has none"),
        ('call = "<c>${object}${name}</c>"', "4:1", "remove ${name}, or write it in place of ${object}"),
        ('call = "<c>${name}${arguments}${parameters}</c>"', "4:1", "a call's arguments stand in one hole"),
        ('call = "<c>${arguments}</c>"', "4:1", "write ${name} or ${id} or ${object}"),
        ('calls = "${calls}</x>"', "4:1", "calls: calls needs text before and after"),
        (f'call = [\n  "<c>${{object}}</c>",\n  "<{"c" * 1023}>${{object}}</c>",\n]', "6:3",
         "a marker has 1025 bytes"),
    ],
)  # fmt: skip
def test_what_nothing_would_read_is_a_fault(tmp_path: Path, keys: str, place: str, what: str) -> None:
    """Each stands on its line, also what only the compiled format shows."""
    example = '\n[[example]]\ninput = "Hi"\ncontent = "Hi"\n'
    call = "" if "call = " in keys else '\ncall = "<c>${object}</c>"'
    (fault,) = check_file(write(tmp_path, f'name = "mine"\n# A comment.\n\n{keys}{call}\n{example}'))
    assert f"/mine.format.toml:{place}: " in fault, fault
    assert what in fault


def test_a_file_without_an_example_is_reported(tmp_path: Path) -> None:
    (fault,) = check_file(write(tmp_path, GOOD[: GOOD.index("[[example]]")]))
    assert "no example. Append [[example]] with input" in fault


def test_a_quoted_hole_of_an_object_is_a_fault(tmp_path: Path) -> None:
    object_ = """object = '{"tool": "${name}", "input": ${arguments}}'\n"""
    (fault,) = check_file(write(tmp_path, GOOD.replace("\n[[example]]", f"{object_}[[example]]")))
    assert "/mine.format.toml:3:1: object: write ${name} without quotes" in fault, fault


def test_reasoning_that_the_sample_loses_is_a_fault(tmp_path: Path) -> None:
    text = GOOD.replace("\n[[example]]", 'reasoning = "<r>${reasoning}think"\n[[example]]')
    (fault,) = check_file(write(tmp_path, text))
    assert "the reasoning 'I ' and the content '.'" in fault, fault


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


def run_pytest(folder: Path) -> subprocess.CompletedProcess[str]:
    package = str(Path(unspool.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "unspool.testing.plugin", str(folder)],
        capture_output=True, text=True, check=False, cwd=folder,
        env={**os.environ, "PYTHONPATH": package, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )  # fmt: skip


def test_pytest_collects_format_files(tmp_path: Path) -> None:
    write(tmp_path, GOOD + GOOD[GOOD.index("[[example]]") :].replace('"Hi."', '"Ho."'))
    done = run_pytest(tmp_path)
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "expected 'Ho.'" in done.stdout


@pytest.mark.parametrize(
    ("text", "counts", "problem"),
    [
        (GOOD.replace("content =", "contents ="), "1 failed, 1 passed", "mine.format.toml:6:1: example[0].contents"),
        (GOOD.replace("call = ", "calll = "), "1 failed, 1 passed", "mine.format.toml:2:1: calll: unknown key"),
        (
            GOOD + '[[example]]\ninput = "x"\ncalls = [{ nme = "f" }]\n', "1 failed, 2 passed",
            "mine.format.toml:8: a call is a table",
        ),
    ],
)  # fmt: skip
def test_a_bad_file_fails_alone(tmp_path: Path, text: str, counts: str, problem: str) -> None:
    """The run goes on with the other tests; pytest stops it where a file cannot be collected."""
    write(tmp_path, text)
    (tmp_path / "test_other.py").write_text("def test_other(): pass\n", encoding="utf-8")
    done = run_pytest(tmp_path)
    assert counts in done.stdout, done.stdout + done.stderr
    assert problem in done.stdout


def test_an_example_may_state_an_id(tmp_path: Path) -> None:
    text = """name = "mine"
call = "<call>${name}<id>${id}<args>${arguments}</call>"
id = "${random:4}"

[[example]]
input = '<call>f<id>ab12<args>{"a": 1}</call>'
calls = [{ name = "f", arguments = '{"a": 1}', id = "ab12" }]
"""
    assert check_file(write(tmp_path, text)) == []
    (fault,) = check_file(write(tmp_path, text.replace('id = "ab12"', 'id = "ab13"')))
    assert "ids: expected ['ab13']" in fault
    assert "found    ['ab12']" in fault

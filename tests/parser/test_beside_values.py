"""What stands beside a value in a pattern: white space, the end of a line, markers that begin alike."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
import unspool
from unspool import FormatFile
from unspool.testing import byte_splits
from unspool.testing.check_file import check_file

from ..forks import ForkLaw

CALL = r'call = "\n@@call ${name}\n${parameters}@@end"'
TEXT = {"type": "string"}


def tools_of(**properties: Any) -> list[Any]:
    return [{"name": "f", "parameters": {"type": "object", "properties": properties}}]


TOOLS = tools_of(city=TEXT, note=TEXT, days={"type": "integer"})


def file_of(parameter: str, call: str = CALL) -> FormatFile:
    return FormatFile(f'name = "mine"\n{call}\nparameter = "{parameter}"\n', "mine.toml")


def arguments(file: FormatFile, inside: str, tools: Any = TOOLS) -> Any:
    """The arguments of the complete call with this inside; the same at every split."""
    output = f"@@call f\n{inside}@@end"
    found = set()
    for pieces in byte_splits(output.encode()):
        parser = unspool.Parser(file, tools, id_seed=1)
        for piece in pieces:
            parser.parse_chunk(piece)
        message = parser.finish()
        found.add((message.content, message.tool_calls, message.malformed))
    assert len(found) == 1
    (call,) = message.tool_calls
    assert call.is_complete, (call, message.malformed)
    return json.loads(call.arguments)


@pytest.mark.parametrize(
    ("parameter", "inside", "value"),
    [
        # The space is the marker's: one is dropped, more are the value's, and it may be missing.
        (r"#${key} = ${value};;\n", "#city = Paris;;\n", "Paris"),
        (r"#${key} = ${value};;\n", "#city = Paris ;;\n", "Paris "),
        (r"#${key} = ${value};;\n", "#city =  Paris;;\n", " Paris"),
        (r"#${key} = ${value};;\n", "#city=Paris;;\n", "Paris"),
        (r"#${key} = ${value};;\n", "#city = ;;\n", ""),
        (r"#${key}=${value} ;;\n", "#city=Paris ;;\n", "Paris"),
        (r"#${key}=${value} ;;\n", "#city= Paris  ;;\n", " Paris "),
        (r"#${key}=${value} ;;\n", "#city=Paris;;\n", "Paris"),
        (r"#${key}:\n  ${value}\n;;\n", "#city:\n  Paris\n;;\n", "Paris"),
        (r"#${key}:\n  ${value}\n;;\n", "#city:\n    a\n  b\n\n;;\n", "  a\n  b\n"),
        # At both sides, all of it.
        (r"#${key} = ${value} ;;\n", "#city =   Paris  ;;\n", "Paris"),
    ],
)
def test_white_space_at_one_side_is_the_markers(parameter: str, inside: str, value: str) -> None:
    assert arguments(file_of(parameter), inside) == {"city": value}
    assert arguments(file_of(parameter), inside, None) == {"city": value}


def test_one_letter_quotes_nothing() -> None:
    file = file_of(r"#${key} = ${value};;\n")
    assert arguments(file, "#city = C# x = 1;;\n#days = 2;;\n") == {"city": "C# x = 1", "days": 2}


def test_a_number_after_a_space() -> None:
    file = file_of(r"#${key} = ${value};;\n")
    assert arguments(file, "#days = 3;;\n#city = 3;;\n") == {"days": 3, "city": "3"}


@pytest.mark.parametrize(
    ("parameter", "inside", "meant"),
    [
        (r"#${key} = ${value}\n", "#city = Paris\n#days = 3\n", {"city": "Paris", "days": 3}),
        (r"#${key} = ${value}\n", "#city = #1 = a#b\n#note = @@en\n", {"city": "#1 = a#b", "note": "@@en"}),
        (r"#${key} = ${value}\n", "#note = a\nb\n\nc\n#city = x\n", {"note": "a\nb\n\nc", "city": "x"}),
        (r"#${key} = ${value}\n", "#note = \n#city = x\n", {"note": "", "city": "x"}),
        (r"#${key} = ${value}\n", "#city = Paris", {"city": "Paris"}),
        (r"${key} := ${value}\n", "city := Paris\ndays := 3\n", {"city": "Paris", "days": 3}),
        (r"${key} := ${value}\n", "city := a := b\n", {"city": "a := b"}),
        (r"${key} := ${value}\n", "note := a\nb\n  c := d\n\ncity := x\n", {"note": "a\nb\n  c := d\n", "city": "x"}),
        (r"${key} := ${value}\n", "note := if (a < b)\nx y := 2\ncity := x\n", {"note": "if (a < b)\nx y := 2", "city": "x"}),
        (r"${key} := ${value}\n", "", {}),
    ],
)  # fmt: skip
def test_a_line_ends_a_value(parameter: str, inside: str, meant: dict[str, Any]) -> None:
    file = file_of(parameter)
    assert arguments(file, inside) == meant
    output = f"@@call f\n{inside}@@end".encode()
    law = ForkLaw(
        partial(unspool.Parser, file, TOOLS, id_seed=1), lambda stream, piece: stream.parse_chunk(piece),
        output, b"\nnote := x\n@@end",
    )  # fmt: skip
    law.check(range(len(output)))
    law.check_snapshots(range(len(output)))


@pytest.mark.parametrize(
    ("parameter", "call", "alike"),
    [
        (r"@${key}=${value}@;\n", CALL, ("@", "@;")),
        (r"@${key}=${value};;\n", CALL, ("@", "@@end")),
        (r"#${key}=${value}@@\n", CALL, ("@@", "@@end")),
        (r"<p=${key}>${value}<p", CALL, ("<p=", "<p")),
        (r"#${key}=${value}#\n", CALL, ("#", "#")),
    ],
)
def test_markers_that_begin_alike_are_refused(parameter: str, call: str, alike: tuple[str, str]) -> None:
    with pytest.raises(unspool.FormatError) as caught:
        unspool.Parser(file_of(parameter, call))
    message = str(caught.value)
    assert "parameter: " in message
    assert "begin alike" in message
    assert all(f"'{text}'" in message for text in alike), message


@pytest.mark.parametrize(
    "parameter", ["[${key}]${value}[/${key}]", "<${key}|${value}</${key}>", r"<${key}>\n${value}\n</${key}>"]
)
def test_elements_are_tags_around_their_values(parameter: str) -> None:
    with pytest.raises(unspool.FormatError, match=r"parameter: elements are written <\$\{key\}>"):
        file_of(parameter)


def test_a_name_comes_first() -> None:
    with pytest.raises(unspool.FormatError, match=r"parameter: \$\{key\} stands after \$\{value\}"):
        file_of("<v>${value}<k>${key}</k>")
    with pytest.raises(unspool.FormatError, match=r"call: \$\{name\} stands after \$\{arguments\}"):
        FormatFile('name = "mine"\ncall = "<c>${arguments}<n>${name}</n>"\n', "mine.toml")


def test_a_parameter_without_an_opener_ends_with_its_line() -> None:
    with pytest.raises(
        unspool.FormatError, match=r"write text before \$\{key\}; only a parameter whose value ends"
    ):
        unspool.Parser(file_of("${key}=${value};"))


@pytest.mark.parametrize(
    ("parameter", "is_right"),
    [
        (r"#${key} = ${value};;\n", True),
        (r"${key} := ${value}\n", True),
        ("<${key}>${value}</${key}>", True),
        (r"@${key}=${value}@;\n", False),
    ],
)
def test_check_reads_its_own_sample(tmp_path: Any, parameter: str, is_right: bool) -> None:
    path = tmp_path / "mine.format.toml"
    example = '[[example]]\ninput = "Hi"\ncontent = "Hi"\n'
    path.write_text(f'name = "mine"\n{CALL}\nparameter = "{parameter}"\n{example}', encoding="utf-8")
    faults = check_file(path)
    assert (not faults) is is_right, faults

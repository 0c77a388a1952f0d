"""The shape of a format: it says what the patterns write, and nothing else looks at their text."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
import unspool
from unspool._core import Edge, Hole, Repeat
from unspool.testing.show_shape import shape_of

#: What a function of the text of a pattern would call.
LOOKS = {
    "casefold", "count", "endswith", "find", "findall", "finditer", "fullmatch", "index", "isalnum", "isalpha",
    "lower", "lstrip", "match", "partition", "removeprefix", "removesuffix", "replace", "rfind", "rindex",
    "rpartition", "rsplit", "rstrip", "search", "split", "splitlines", "startswith", "strip", "sub",
}  # fmt: skip
#: Functions that look at another text, each with whose it is.
OTHERS = {
    "_call": "the arguments of a message",
    "_apart": "the text of a message, at a vocabulary's tokens",
    "find": "the same",
    "_stretches": "markup, at a vocabulary's tokens",
    "_pieces": "markup, at a vocabulary's tokens",
    "_is_tag": "a vocabulary's token",
    "id_of": "the id of a call",
    "_nests": "a key of the arguments",
    "_key": "a key of the arguments",
    "_element": "a key of a schema",
    "_is_broken": "a key of a schema",
    "_python_tools": "the names of tools",
    "_check_name": "the name of a tool",
    "_moved": "a reference of a schema",
    "what_differs": "the text of a message",
    "after": "written text",
    "without_turn": "written text",
    "_breaks_at_start": "written text",
}
WRITING = Path(unspool.__file__).parent / "writing"
GRAMMAR = ("answer_rules", "arguments", "call_rules", "lexicon", "make_grammar")
WALKERS = [*(WRITING / "render").glob("*.py"), *(WRITING / "grammar" / f"{name}.py" for name in GRAMMAR)]


@pytest.mark.parametrize("file", WALKERS, ids=lambda file: file.stem)
def test_a_writer_looks_at_no_pattern(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef) or function.name in OTHERS:
            continue
        calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
        looks = {call.func.attr for call in calls if isinstance(call.func, ast.Attribute)} & LOOKS
        assert not looks, f"{function.name} calls {', '.join(sorted(looks))}"


def written(items: Iterable[Edge | Hole | Repeat]) -> str:
    """The pattern of these items."""
    text = ""
    for item in items:
        if isinstance(item, Edge):
            text += item.literal
        elif isinstance(item, Hole):
            text += "${" + ":".join([item.kind, *([",".join(item.options)] if item.options else [])]) + "}"
        else:
            text += written(item.items) + item.separator.literal + "${...}"
    return text


def patterns(file: unspool.FormatFile, key: str) -> list[str]:
    """The alternatives of a key that have a hole; TOML in single quotes keeps a line break as two letters."""
    return [text.replace("\\n", "\n") for text in file.patterns.get(key, ()) if "${" in text]


@pytest.mark.parametrize("name", [file.name for file in unspool.formats()])
def test_a_shape_has_all_that_the_patterns_write(name: str) -> None:
    file = unspool.get_format(name)
    for form in file.shape.forms:
        call = form.call
        opener = [edge for edge in (call.open, call.list_open) if edge]
        inside = [repeated(call.inside, call.separator)] if call.separator else [written(call.inside)]
        text = (
            written(opener)
            + "".join(inside)
            + written([edge for edge in (call.list_close, call.close) if edge])
        )
        if call.author:
            text = f"{call.author.literal}${{_}}{text}"
        assert text in patterns(file, "call")
        for parameter in form.parameters:
            assert written(parameter.items) in patterns(file, "parameter")
        if form.section:
            section = form.section
            assert f"{section.open.literal}${{calls}}{section.close.literal}" in patterns(file, "calls")
    assert [written(id.items) for id in file.shape.ids] == patterns(file, "id")
    if objects := patterns(file, "object"):
        assert [written(object.items) for object in file.shape.objects] == objects


def repeated(inside: Iterable[Edge | Hole | Repeat], separator: Edge) -> str:
    return written(inside) + separator.literal + "${...}"


@pytest.mark.parametrize("opener", ["", "<|start|>to="])
def test_a_json_form_without_its_tagged_form_is_an_error(opener: str) -> None:
    """The two forms share an opener. Here nothing opens the tagged one, or a header does."""
    patterns = {
        "call": [
            f"{opener}${{name}}<|message|>${{parameters}}</c>",
            f"{opener}${{name}}<|message|>${{arguments}}</c>",
        ],
        "parameter": ["<p=${key}>${value}</p>"],
        "header": ["<|start|>${_}<|message|>"],
    }
    with pytest.raises(unspool.FormatError, match="the tagged form of a call with JSON is missing"):
        unspool.FormatFile(name="mine", patterns=patterns)


@pytest.mark.parametrize(
    ("literal", "before", "text", "after"),
    [
        ("\n<tool_call>\n", "\n", "<tool_call>", "\n"),
        ("word ", "", "word", " "),
        (" \n ", "", "", " \n "),
        ("", "", "", ""),
        ("\t◁é▷", "\t", "◁é▷", ""),
    ],
)
def test_an_edge(literal: str, before: str, text: str, after: str) -> None:
    edge = Edge(literal)
    assert (edge.before, edge.text, edge.after) == (before, text, after)
    assert edge.is_blank == (not text)
    assert (edge, hash(edge)) == (Edge(literal), hash(Edge(literal)))


def test_what_an_edge_decides() -> None:
    assert Edge("\n<a>\n <b> <c>\n").tags == ("<a>", "<b> <c>")
    assert [Edge(text).begins_tag for text in ("<a>", " ◁a▷", "call:", "")] == [True, True, False, False]
    assert [Edge(text).ends_tag for text in ("<a>\n", "◁a▷", "call:", "word ", "")] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert (Edge("\n\nx").line_breaks, Edge("x\n").line_breaks) == (2, 0)
    assert Edge(" ｜DSML｜").sign == "｜"
    assert Edge("<turn>model\n<a>").after_any(["x<turn>model\n", "<turn>"]) == Edge("<a>")
    assert Edge("<a>").after_any(["\n", "b<"]) == Edge("a>")
    assert Edge(" \n").after_any([" "]) == Edge(" \n")
    assert Edge("<a>b").without("<a>") == Edge("b")
    assert [Edge("<a><b></a>").is_begun_by(text) for text in ("\n<a><b><c>", "<a>b", "<a")] == [
        True,
        False,
        False,
    ]


def test_the_command_prints_the_shape(tmp_path: Path) -> None:
    file = unspool.get_format("glm47")
    lines = shape_of(file)
    assert lines[lines.index("call        xml_parameters") :] == [
        "call        xml_parameters",
        "  open      '\\n<tool_call>'",
        "  inside    ${name} ${parameters}",
        "  close     '</tool_call>'",
        "  parameter '<arg_key>' ${key} '</arg_key><arg_value>' ${value} '</arg_value>'",
    ]
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\ncall = "<c>${object}</c>"\n[[example]]\ninput = "Hi."\ncontent = "Hi."\n')
    command = [sys.executable, "-m", "unspool", "check", "--shape", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "  call        json_call\n    open      '<c>'\n" in done.stdout


@pytest.mark.parametrize(
    ("opener", "is_in_header"),
    [("<|start|>to=", True), ("<|start|>to=a<|message|><call id=", False), ('<|start|>a<|message|>"', False)],
)
def test_a_name_after_the_header_is_not_in_the_header(opener: str, is_in_header: bool) -> None:
    patterns = {
        "header": ["<|start|>${_}<|message|>"],
        "call": [f"{opener}${{name}}<|message|>${{arguments}}</c>"],
    }
    (call,) = unspool.FormatFile(name="mine", patterns=patterns).facts.calls
    assert call.after_header == is_in_header


def test_what_a_grammar_writes_where_the_parser_skips() -> None:
    (reasoning,) = unspool.get_format("inkling").shape.reasoning
    assert reasoning.author_name
    assert reasoning.author_name.letters[1:3] == (("A", "Z"), ("a", "z"))
    notes = [content.note for content in unspool.get_format("cohere_command4").shape.contents if content.note]
    assert [(note.letters[0], note.most) for note in notes] == [(("0", "9"), 40)]

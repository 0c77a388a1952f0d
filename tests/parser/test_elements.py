"""Elements that a single `<` opens: what begins no tag of the call is the value's text."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
import unspool
from unspool import Labels
from unspool.testing import byte_splits
from unspool.testing.cases import Case

from ..forks import ForkLaw
from ..properties.label_tokens import cut, joined, labels_of, read

FORMAT = unspool.FormatFile(
    """
    name = "elements"
    call = '\\n<call name="${name}">${parameters}</call>'
    parameter = "<${key}>${value}</${key}>"
    end = "<end>"
    """,
    "elements.toml",
)
TEXT = {"type": "string"}
OPTIONS: list[dict[str, Any]] = [{}, {"repair": True}, {"audit": True}]

#: Values that are text, whether or not a schema says so.
TEXTS = [
    "a < b", "x<y", "a</b", "if (a<b) {}", "a<", "<", "<<", "</", "a</", "</v", "</v ", "x<y>z",
    "vector<int> x", "a</b>c", "1 <2> 3", "i<10 && j>5", "<p class='x'>hi</p>", 'a <b c="d">e</b> f',
    "x <y\nz> w", "</call", "a </call> b", "a<call name", "a\n<b", "a < b </w> c", "a<v", "x <br/> y",
    "<!-- c -->", "1<2", "a<b<c", "x </vv> y", "€<é>", "a <" + "x" * 1100 + "> b", "<" + "x" * 1100,
]  # fmt: skip
#: These are elements, or damaged, unless the schema says that they are text.
QUOTED = ["</vv>", "a <v> b </v> c", "<b>1</b>", '<call name="g"><a>1</a></call>', "<b></b><c>2</c>"]


def tools_of(**properties: Any) -> list[Any]:
    schema = {"type": "object", "properties": {**properties, "w": TEXT}}
    return [{"name": "f", "parameters": schema}]


def output_of(value: str) -> str:
    return f'<call name="f"><v>{value}</v><w>q</w></call>'


def read_at_every_split(text: str, tools: Any, **options: Any) -> unspool.Message:
    """The message; the same at every split."""
    found: list[unspool.Message] = []
    for pieces in byte_splits(text.encode()) if len(text) < 200 else [[text], list(text)]:
        parser = unspool.Parser(FORMAT, tools, id_seed=1, **options)
        for piece in pieces:
            parser.parse_chunk(piece)
        found.append(parser.finish())
    parts = {(one.content, one.tool_calls, one.malformed) for one in found}
    assert len(parts) == 1
    return found[0]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("has_schema", [True, False])
@pytest.mark.parametrize("value", TEXTS)
def test_text_with_a_bracket(value: str, has_schema: bool, options: dict[str, Any]) -> None:
    message = read_at_every_split(output_of(value), tools_of(v=TEXT) if has_schema else None, **options)
    (call,) = message.tool_calls
    assert call.is_complete
    assert json.loads(call.arguments) == {"v": value, "w": "q"}
    assert not message.malformed
    assert not call.repairs


@pytest.mark.parametrize("value", QUOTED)
def test_a_string_quotes_elements(value: str) -> None:
    (call,) = read_at_every_split(output_of(value), tools_of(v=TEXT)).tool_calls
    assert call.is_complete
    assert json.loads(call.arguments) == {"v": value, "w": "q"}


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("<city>a < b</city><n>2</n>", {"city": "a < b", "n": 2}),
        ("<item>x<y</item><item>z</item>", ["x<y", "z"]),
        ("<my-key>1</my-key>", {"my-key": 1}),
        ("a <b>1</b>", {"b": 1, "$text": "a"}),
    ],
)
def test_elements_in_elements(value: str, meant: Any) -> None:
    (call,) = read_at_every_split(output_of(value), None).tool_calls
    assert call.is_complete
    assert json.loads(call.arguments) == {"v": meant, "w": "q"}


@pytest.mark.parametrize("has_schema", [True, False])
@pytest.mark.parametrize(
    "output",
    [
        '<call name="f"><v>Paris</v</call>',
        '<call name="f"><v>Paris</vv></call>',
        '<call name="f"><v><city>Paris</v></call>',
        '<call name="f"><v>x <city>Paris</call>',
        '<call name="f"><v><city>Paris</cty></v></call>',
    ],
)
def test_a_damaged_tag_is_no_text(output: str, has_schema: bool) -> None:
    """Only the tag that is text in a string is."""
    tools = tools_of(v={"type": "object", "properties": {"city": TEXT}}) if has_schema else None
    (call,) = read_at_every_split(output, tools).tool_calls
    assert not call.is_complete


@pytest.mark.parametrize("value", TEXTS[:-2] + QUOTED)
def test_forks_and_snapshots(value: str) -> None:
    def put(stream: Any, piece: bytes) -> Any:
        return stream.parse_chunk(piece)

    for tools in (tools_of(v=TEXT), None):
        output = output_of(value).encode()
        law = ForkLaw(partial(unspool.Parser, FORMAT, tools, id_seed=1), put, output, b"<x</v>")
        law.check(range(len(law.output)))
        law.check_snapshots(range(len(law.output)))


@pytest.mark.parametrize("value", TEXTS[:-2] + QUOTED)
def test_the_labels_of_a_value(value: str) -> None:
    """By ids: the tokens of the keys and the values are labelled, and no others."""
    case = Case(FORMAT, "elements", output_of(value), tools=tuple(tools_of(v=TEXT)))  # type: ignore[arg-type]
    tokens = cut(FORMAT.name, case.input, known_markers=("<end>",))
    message = read(tokens, case)
    assert json.loads(message.tool_calls[0].arguments) == {"v": value, "w": "q"}
    labels: Labels = labels_of(message)
    assert joined(tokens, labels, "arguments") == f"v{value}wq"

"""A trace is the parse, step by step; what a notebook and a terminal show of it is safe and bounded."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import unspool
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.interactiveshell import InteractiveShell
from rich.console import Console
from unspool import trace
from unspool.core.stream.message_html import COLORS
from unspool.core.visible import visible
from unspool.errors import shorten
from unspool.testing.cases import shipped_cases
from unspool.testing.demo import demo_of, embedded_tokens

STYLE = Path(unspool.__file__).parent / "serve/playground/static/style.css"
FORMATS = [file.name for file in unspool.formats()]
#: Output that attacks whoever shows it.
ATTACK = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&\x1b[31m\x1b]0;title\x07\u202eevil\x00</table></div>"


class Tags(HTMLParser):
    """The tags and attributes of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def printed(value: Any, **options: Any) -> str:
    console = Console(file=io.StringIO(), width=100, **options)
    console.print(value)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("name", FORMATS)
def test_a_trace_is_the_parse(name: str) -> None:
    for case in shipped_cases(name)[:6]:
        options = {**case.options, "id_seed": 1}
        message = unspool.parse(case.input, name, case.tools, finish_reason=case.finish_reason, **options)
        found = trace(case.input, name, case.tools, finish_reason=case.finish_reason, **options)
        raw = case.input.encode()
        assert found.message.to_openai() == message.to_openai()
        assert b"".join(step.piece for step in found.steps) == raw
        assert "".join(text for _, text in found.regions) == case.input
        assert [step.end for step in found.steps][-2:] == [len(raw)] * min(2, len(found.steps))
        for step in found.steps:
            assert (step.why != "") == (step.held_reason != "none")
            assert step.emitted <= step.end
        assert "".join(row.piece for row in found.rows) == case.input
        said = "".join(text for row in found.rows for kind, text, _ in row.parts if kind == "content")
        assert said == message.content


@pytest.mark.parametrize("name", ["qwen3_coder", "hermes", "openai", "mistral"])
def test_token_ids(name: str) -> None:
    demo = demo_of(unspool.get_format(name))
    vocabulary, ids = embedded_tokens(demo)
    found = trace(ids, name, demo.tools, tokenizer=vocabulary)
    assert len(found.steps) == len(ids) + 1
    assert "".join(text for _, text in found.regions) == demo.output
    named = [text for kind, text in found.regions if kind == "name"]
    assert named == [call.name for call in found.message.tool_calls]
    assert any(kind == "arguments" for kind, _ in found.regions)


@pytest.mark.parametrize("chunk", ["bytes", 1, 7, "tokens"])
def test_any_pieces_and_any_bytes(chunk: Any) -> None:
    raw = b'a\xff\xf0\x9f <tool_call>{"name": "f", "arguments": {}}</tool_call>'
    found = trace(raw, "hermes", chunk=chunk)
    assert b"".join(step.piece for step in found.steps) == raw
    assert found.message.tool_calls[0].name == "f"
    assert len(trace("", "hermes", chunk=chunk).steps) == 1


def test_wrong_arguments() -> None:
    for chunk in (0, -1, True, "words"):
        with pytest.raises(unspool.ArgumentError, match="use 'tokens', 'bytes' or a number"):
            trace("a", "hermes", chunk=chunk)
    with pytest.raises(unspool.ArgumentError, match="lone surrogate"):
        trace("\ud800", "hermes")


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("hermes", '<tool_call>{"name": "f", "arguments": {}}', "byte 41: '</tool_call>' is missing"),
        ("hermes", '<tool_call><tool_call>{"name": "f", "arguments": {}}</tool_call>',
         "byte 0: '<tool_call><tool_call>' stands in place of '<tool_call>'"),
        ("qwen3", "<think>a</think></think>b", "byte 8: '</think></think>' stands in place of '</think>'"),
    ],
)  # fmt: skip
def test_tolerances_that_acted_are_named(name: str, text: str, sentence: str) -> None:
    found = trace(text, name)
    assert [item.sentence for item in found.deviations] == [sentence]
    assert sentence in printed(found).replace("\n", " ")
    assert sentence in Tags(found._repr_html_()).text


@pytest.mark.parametrize("name", FORMATS)
def test_what_a_format_writes_deviates_nowhere(name: str) -> None:
    file = unspool.get_format(name)
    calls = [{"function": {"name": "f", "arguments": {"input": "b"}}}] if file.has_tools else []
    tools = [{"name": "f", "parameters": {"properties": {"input": {"type": "string"}}}}]
    text = file.render({"content": "" if calls else "Hi", "tool_calls": calls}, tools=tools, exact=False)
    assert trace(text, file, tools).deviations == []


@given(st.text(max_size=300))
def test_text_for_the_eye_has_no_control_characters(text: str) -> None:
    shown = visible(text)
    assert all(character.isprintable() or character in "\n\t" for character in shown)
    assert visible(shown) == shown
    assert len(shorten(text, 90)) <= 140


def hostile() -> list[Any]:
    name = f"f{ATTACK}"
    calls = "".join(
        f"<tool_call>\n<function={name}>\n<parameter={ATTACK}>\n{ATTACK}\n</parameter>\n</function>\n</tool_call>{ATTACK}"
        for _ in range(3)
    )
    text = f"<think>{ATTACK}</think>{ATTACK}\n<tool_call>\n{ATTACK}{calls}"
    parser = unspool.Parser("qwen3_coder", audit=True)
    parser.parse_chunk(f"{text}<tool")
    messages = [
        unspool.Message(ATTACK, ATTACK, (unspool.ToolCall(ATTACK, ATTACK, ATTACK, "malformed"),), "stop",
                        (unspool.MalformedText(ATTACK, ATTACK, 0),), (unspool.MalformedText(ATTACK, ATTACK, 0),),
                        audit=(("content", ATTACK), ("marker", ATTACK)), hint=ATTACK),
    ]  # fmt: skip
    return [
        trace(text, "qwen3_coder"),
        trace(text, "hermes"),
        trace(text, "hermes").message,
        parser,
        *messages,
    ]


def check_hostile(page: str) -> None:
    seen = Tags(page)
    assert seen.tags <= {
        "div",
        "style",
        "b",
        "small",
        "table",
        "tr",
        "th",
        "td",
        "code",
        "mark",
        "details",
        "summary",
        "br",
    }
    assert seen.attributes <= {"class", "title", "open"}
    assert not seen.open
    assert "<script>alert(1)" in seen.text  # shown, and not run
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", page)


@pytest.mark.parametrize("value", hostile(), ids=lambda value: type(value).__name__)
def test_html_of_hostile_output_is_text(value: Any) -> None:
    check_hostile(value._repr_html_())


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "unspool.integrations.ipython")
    yield shell
    shell.run_line_magic("unload_ext", "unspool.integrations.ipython")


@pytest.mark.parametrize("kind", [list, tuple])
def test_a_notebook_shows_deltas(shell: InteractiveShell, kind: type) -> None:
    def shown(items: Any) -> str | None:
        html: str | None = shell.display_formatter.format(kind(items))[0].get("text/html")
        return html

    deltas = trace(f'{ATTACK}<tool_call>{{"name": "get_weather"}}', "hermes", chunk=1_000).deltas
    page = shown(deltas)
    assert page is not None
    check_hostile(page)
    assert "get_weather" in Tags(page).text
    many = shown(deltas * 10_000)
    assert many is not None
    assert "more deltas" in many
    assert len(many) < 300_000
    assert shown([]) is shown([1]) is shown([*deltas, 1]) is None
    shell.run_line_magic("unload_ext", "unspool.integrations.ipython")
    assert shown(deltas) is None


@pytest.mark.parametrize("value", hostile()[:2], ids=lambda value: value.format)
def test_the_terminal_gets_no_escapes_of_the_model(value: Any) -> None:
    plain = printed(value)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", plain)
    assert "\\x1b[31m" in plain
    styled = printed(value, force_terminal=True, color_system="truecolor")
    assert re.sub(r"\x1b\[[\d;]*m", "", styled) == plain


@pytest.mark.parametrize("letter", ["a", "&", "\x00", "\U0010ffff", "\n", "<"])
def test_html_is_bounded(letter: str) -> None:
    text = letter * 10_000
    call = f"<tool_call>\n<function=f>\n<parameter=a>\n{text}\n</parameter>\n</function>\n</tool_call>"
    found = trace(f"<think>{text}</think>{text}{call * 30}", "qwen3_coder", chunk=1_000)
    assert len(found._repr_html_()) < 300_000
    assert len(found.message._repr_html_()) < 300_000
    assert len(printed(found)) < 300_000


def test_colours_are_those_of_the_playground() -> None:
    style = STYLE.read_text()
    for kind, (back, text, dark_back, dark_text) in COLORS.items():
        both = f"--{kind}: light-dark({back}, {dark_back}); --{kind}-text: light-dark({text}, {dark_text})"
        assert both in style


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_shows_its_sentences_and_a_sample(name: str) -> None:
    file = unspool.get_format(name)
    seen = Tags(file._repr_html_())
    assert file.name in seen.text
    for sentence in file.sentences:
        assert sentence in seen.text

"""The notation: a format as what its model writes, with holes."""

from __future__ import annotations

import json
import pickle
import re
from importlib.resources import files

import pytest
import unspool
from unspool._core import PATTERN_KEYS, format_words
from unspool.formats.explain_format import SAMPLE_CALL, SAMPLE_TOOLS, sample_of
from unspool.formats.format_file import FormatFile
from unspool.testing import check_case, shipped_cases

FILES = {file.name: file for file in unspool.formats()}


def hermes(extra: str = "") -> FormatFile:
    text = 'name = "mine"\ncall = "\\n<tool_call>\\n${object}\\n</tool_call>"\nend = "<|im_end|>"\n'
    return FormatFile(text + extra, "mine.toml")


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("name", FILES)
def test_a_family_reads_its_cases(name: str) -> None:
    file = FILES[name]
    for case in shipped_cases(name):
        if case.format != name:
            continue
        data = case.input.encode()
        for pieces in ([data], [data[i : i + 1] for i in range(len(data))]):
            check_case(file, case, pieces)


@pytest.mark.parametrize("name", FILES)
def test_a_sample_is_read_back(name: str) -> None:
    file = FILES[name]
    message = unspool.parse(sample_of(file), file, SAMPLE_TOOLS)
    calls = [(call.name, json.loads(call.arguments)) for call in message.tool_calls if call.is_complete]
    assert calls == ([SAMPLE_CALL] if file.has_tools else [])
    assert not message.malformed


def test_a_family_is_a_few_lines() -> None:
    folder = files("unspool") / "parsers"
    counts = []
    for entry in folder.iterdir():
        patterns = re.split(r"^\[+\w+\]+$", entry.read_text(encoding="utf-8"), flags=re.M)[0]
        start = re.search(r"^(?:turn|reasoning|content|calls|call) *=", patterns, re.M)
        counts.append(len(patterns[start.start() if start else 0 :].strip().splitlines()))
    counts.sort()
    assert counts[len(counts) // 2] <= 7
    assert counts[-1] <= 21


def test_few_words() -> None:
    """Keys, holes and options: at most 30."""
    words = json.loads(format_words())
    keys = [key["name"] for key in words["keys"] if key["type"] in ("patterns", "literals")]
    assert sorted(keys) == sorted(PATTERN_KEYS)
    assert len(keys) + len(words["holes"]) + len(words["options"]) <= 30


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('parameter = "<p=${kex}>${value}</p>"', r"mine.toml:4:1: parameter: there is no hole \$\{kex\}"),
        ('parameter = "<p=${key}>${value"', "mine.toml:4:1: parameter: a hole has no end"),
        ('parameter = "<p>"', "mine.toml:4:1: parameter: the hole is missing in '<p>'"),
        ('parameter = "${name}${value}"', "mine.toml:4:1: parameter: "),
        ('reasoning = "<think>${content}</think>"', "mine.toml:4:1: reasoning: "),
        ('reasoning = "<think>${reasoning:loud}</think>"', "an option 'loud'; use verbatim"),
        ('reasoning = ""', "mine.toml:4:1: reasoning"),
        ("reasoning = []", "write one to 1,000 alternatives"),
        ('calls = ["<calls>", "</calls>"]', "mine.toml:4:1: calls: the hole is missing"),
        ('reasoning = "<think>"', "mine.toml:4:1: reasoning: the hole is missing"),
        ('turn = "<${name}>"', "mine.toml:4:1: turn: .*must not contain a hole"),
        ('cal = "x"', "mine.toml:4:1: cal: unknown key"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(line: str, message: str) -> None:
    with pytest.raises(unspool.FormatError, match=message):
        hermes(line + "\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('call = "<c>${name}${parameters}</c>"', "needs a key 'parameter'"),
        ('call = "<c>${name}${arguments}; ${...}</c>"', r"call: \$\{\.\.\.\} repeats"),
        ('call = "<c>${name}</c>"', r"no \$\{arguments\}, \$\{parameters\}, \$\{value\} or \$\{object\}"),
        (
            'call = "<c>${id}${name}|${arguments}</c>"',
            r"nothing stands between a call's \$\{id\} and \$\{name\}",
        ),
        ('call = "<c>${name}${value}</c>"', r"nothing ends \$\{name\} or \$\{value\}"),
        ('call = "<c>${name}|${parameters}</c>"\nparameter = "<p=${key}>${value}"', r"nothing ends"),
        (
            'call = "<c>${name}|${parameters}</c>"\nparameter = "<p=${key}${value}</p>"',
            r"nothing stands between",
        ),
        ('header = "<m>${_}"\ncontent = "<m>final${content}"', "header: nothing ends the header"),
        ('call = "<c>${name}<s>${_}</s>${arguments}</c>"', r"call: \$\{_\} stands after"),
        ('call = "<c>${_}${name}<a>${arguments}</c>"', r"nothing stands between a call's \$\{_\} and"),
        ('end = "<|im_end|>"', "neither calls nor reasoning"),
    ],
)
def test_a_hole_without_an_end_is_refused(text: str, message: str) -> None:
    with pytest.raises(unspool.FormatError, match=message):
        FormatFile(f'name = "mine"\n{text}\n', "mine.toml")


def test_a_name_is_not_empty() -> None:
    with pytest.raises(unspool.FormatError, match=r"mine.toml:1:1: name: the name is empty"):
        FormatFile('name = ""\ncall = "<c>${object}</c>"\n', "mine.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'call = "${name}(${parameters})"\nparameter = "${key}=${value}, "',
            r"call: write text before its first hole; .* \"\$\{name\}\(\$\{key\}=\$\{value\}, \$\{\.\.\.\}\)\"",
        ),
        (
            'call = "<c>${name} ${parameters}/>"\nparameter = "${key}=${value}; "',
            r"parameter: write text before \$\{key\}; only a parameter whose value ends with its line",
        ),
    ],
)
def test_a_hole_without_a_beginning_is_refused(text: str, message: str) -> None:
    with pytest.raises(unspool.FormatError, match=message):
        unspool.parse("", FormatFile(f'name = "mine"\n{text}\n', "mine.toml"))


def test_what_was_understood_is_reported() -> None:
    assert hermes().sentences == [
        "A call begins with `<tool_call>` and ends with `</tool_call>`.",
        "The parser drops '\\n' before the opener.",
        "The call is one JSON object, or a list of them.",
        "The tool's name is at the key `name`, and the arguments are at `arguments` or `parameters`.",
        "An answer ends with `<|im_end|>`.",
    ]
    assert "The parser drops one line break at each side of the value." in FILES["qwen3_coder"].sentences
    assert "The value keeps all white space." in FILES["mimo"].sentences
    pythonic = FILES["pythonic"].sentences
    assert pythonic[0].startswith("At the start of the message, a call needs no opener.")
    assert "Another form of a call begins with `<|python_tag|>`." in pythonic


def test_a_header_is_explained() -> None:
    sentences = FILES["openai"].sentences
    assert "A header with `analysis` opens reasoning." in sentences
    assert (
        "The text after `to=` in a header names the tool, unless it is `user`, `assistant` or `all`."
        in sentences
    )


def test_white_space_is_visible() -> None:
    text = 'name = "mine"\nreasoning = "<t>\\r\\n\\t${reasoning}</t>"\nend = "\'`\\u0001\\n\\\\"\n'
    assert FormatFile(text).sentences == [
        "Reasoning is between `<t>` and `</t>`.",
        "The parser drops '\\r\\n\\t' after the opener.",
        "A call inside reasoning waits. It stays text if the reasoning closes after it. Otherwise it is a call.",
        'An answer ends with "\'`\\x01\\n\\\\".',
    ]


def test_the_facts_of_a_format() -> None:
    facts = hermes('reasoning = "<think>${reasoning}</think>"\n').facts
    assert facts.markers == ("</think>", "</tool_call>", "<think>", "<tool_call>", "<|im_end|>")
    assert facts.marker_tokens == facts.markers
    assert facts.ends == ("<|im_end|>",)
    assert repr(facts.reasoning) == (
        "ReasoningFacts(openers=('<think>',), closers=('</think>',), label='', starts_open=False, tool_calls='auto')"
    )
    (call,) = facts.calls
    assert (call.openers, call.closers, call.body) == (("<tool_call>",), ("</tool_call>",), "json_call")
    assert hermes().facts.reasoning is None
    copied = pickle.loads(pickle.dumps(hermes()))
    assert (type(copied), repr(copied.facts)) == (FormatFile, repr(hermes().facts))


def test_the_facts_of_bare_calls_and_headers() -> None:
    bare = FILES["pythonic"].facts.calls[0]
    assert (bare.bare, bare.first_letters, bare.may_be_content, bare.openers) == ("start", "[", True, ())
    (header,) = FILES["openai"].facts.headers
    assert (header.openers, header.closers) == (("<|start|>", "<|channel|>"), ("<|message|>",))
    assert any(call.after_header for call in FILES["openai"].facts.calls)
    assert FILES["openai"].facts.dropped == ("<|end|>", "<|call|>", "<|message|>")
    kimi = FILES["kimi_k2"].facts
    assert (kimi.call_ids, kimi.section_openers[0]) == ("functions", "<|tool_calls_section_begin|>")


@pytest.mark.parametrize(
    ("marker", "tokens"),
    [
        ("<a><b>", ("<a>", "<b>")),
        ("<a b>", ()),
        ("<a", ()),
        ("<abc", ("<abc",)),
        ("[CALL][/CALL]x", ("[/CALL]", "[CALL]")),
        ("[call]", ("[call]",)),
        ("◁t▷", ()),
        ("◁tt▷", ("◁tt▷",)),
        ("abc:", ()),
        ("<<a>", ("<a>",)),
    ],
)
def test_what_of_a_marker_is_a_token(marker: str, tokens: tuple[str, ...]) -> None:
    file = FormatFile(f'name = "mine"\ncontent = "${{content}}"\nend = "{marker}"\n')
    assert file.facts.marker_tokens == tokens


@pytest.mark.parametrize(
    "call",
    [
        '<c name="${name}" id="${id}">${arguments}</c>',
        '<c id="${id}" name="${name}">${arguments}</c>',
        "<c name='${name}' id='${id}'>${arguments}</c>",
        "<c id=${id} name=${name}>${arguments}</c>",
        "<c><i>${id}</i>${name}<a>${arguments}</c>",
        "<c>${name}<i>${id}<a>${arguments}</c>",
    ],
)
def test_the_models_id_is_the_calls(call: str) -> None:
    output = call.replace("${name}", "f").replace("${id}", "call_7").replace("${arguments}", "{}")
    message = unspool.parse(output, FormatFile(f"name = \"mine\"\ncall = '''{call}'''\n"))
    assert [(call.name, call.id, call.arguments) for call in message.tool_calls] == [("f", "call_7", "{}")]


def test_a_turn_that_opens_the_reasoning_starts_in_it() -> None:
    text = 'name = "mine"\nturn = "<a><think>\\n"\nreasoning = "<think>\\n${reasoning}\\n</think>\\n\\n"\n'
    message = unspool.parse("Hm.\n</think>\n\nHello!", FormatFile(text))
    assert (message.reasoning, message.content) == ("Hm.", "Hello!")


def test_a_dollar_may_be_text_and_a_line_break_in_either_quotes() -> None:
    text = "name = 'mine'\ncall = '<c$${>\\n${object}\\n</c>'\n"
    message = unspool.parse('<c${>\n{"name": "f"}\n</c>', FormatFile(text))
    assert [call.name for call in message.tool_calls] == ["f"]


def test_everything_may_be_content() -> None:
    message = unspool.parse("<think>a</think>b", FormatFile('name = "mine"\ncontent = "${content}"\n'))
    assert message.content == "<think>a</think>b"

"""The notation: a format as what its model writes, with holes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import unspool
from unspool.explain_format import SAMPLE_CALL, SAMPLE_TOOLS, explain_format, sample_of
from unspool.format_files import PATTERN_KEYS, FormatFile, parse_format, read_format
from unspool.testing import check_case, shipped_cases

FOLDER = Path(__file__).parent / "formats"
FILES = {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}


def hermes(extra: str = "") -> FormatFile:
    text = 'name = "mine"\ncall = "\\n<tool_call>\\n${object}\\n</tool_call>"\nend = "<|im_end|>"\n'
    return parse_format(text + extra, "mine.toml")


def test_every_family_stands_in_the_notation() -> None:
    assert set(FILES) == {file.name for file in unspool.formats()}


@pytest.mark.parametrize("name", FILES)
def test_a_family_reads_its_cases(name: str) -> None:
    file = read_format(FILES[name])
    for case in shipped_cases(name):
        if case.format != name:
            continue
        data = case.input.encode()
        for pieces in ([data], [data[i : i + 1] for i in range(len(data))]):
            check_case(file, case, pieces)


@pytest.mark.parametrize("name", FILES)
def test_a_sample_is_read_back(name: str) -> None:
    file = read_format(FILES[name])
    message = unspool.parse(sample_of(file), file, SAMPLE_TOOLS)
    calls = [(call.name, json.loads(call.arguments)) for call in message.tool_calls if call.is_complete]
    assert calls == ([SAMPLE_CALL] if file.has_tools else [])
    assert not message.malformed


def test_a_file_is_short() -> None:
    lines = sorted(len(path.read_text(encoding="utf-8").splitlines()) for path in FILES.values())
    assert lines[len(lines) // 2] <= 7
    assert lines[-1] <= 22


def test_few_words() -> None:
    """Keys, holes and options: at most 30."""
    native = Path(__file__).parents[2] / "csrc" / "format" / "pattern.cpp"
    if not native.exists():
        pytest.skip("runs in a checkout")
    text = native.read_text(encoding="utf-8")
    holes = text[text.index("kHoles") : text.index("}};")].count("HoleKind::")
    assert len(PATTERN_KEYS) + holes + 4 <= 30


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('parameter = "<p=${kex}>${value}</p>"', r"mine.toml:4: parameter: there is no hole \$\{kex\}"),
        ('parameter = "<p=${key}>${value"', "mine.toml:4: parameter: a hole has no end"),
        ('parameter = "<p>"', "mine.toml:4: parameter: the hole is missing in '<p>'"),
        ('parameter = "${name}${value}"', "mine.toml:4: parameter: "),
        ('reasoning = "<think>${content}</think>"', "mine.toml:4: reasoning: "),
        ('reasoning = "<think>${reasoning:loud}</think>"', "an option 'loud'; use verbatim"),
        ('reasoning = ""', "mine.toml:4: reasoning"),
        ("reasoning = []", "write one to 100 alternatives"),
        ('turn = "<${name}>"', "mine.toml:4: turn: it is text alone"),
        ('cal = "x"', "mine.toml:4: unknown key 'cal'"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(line: str, message: str) -> None:
    with pytest.raises(unspool.FormatError, match=message):
        hermes(line + "\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('call = "<c>${name}${parameters}</c>"', "needs a key 'parameter'"),
        ('call = "<c>${name}</c>"', r"no \$\{arguments\}, \$\{parameters\} or \$\{object\}"),
        ('call = "<c>${id}|${name}${arguments}</c>"', "id before its name"),
        ('call = "<c>${name}|${parameters}</c>"\nparameter = "<p=${key}>${value}"', r"nothing ends"),
        (
            'call = "<c>${name}|${parameters}</c>"\nparameter = "<p=${key}${value}</p>"',
            r"nothing stands between",
        ),
        ('end = "<|im_end|>"', "neither calls nor reasoning"),
    ],
)
def test_a_hole_without_an_end_is_refused(text: str, message: str) -> None:
    with pytest.raises(unspool.FormatError, match=message):
        parse_format(f'name = "mine"\n{text}\n', "mine.toml")


def test_what_was_understood_is_told() -> None:
    assert explain_format(hermes()) == [
        "A call opens at `<tool_call>`, and closes at `</tool_call>`; dropped is '\\n' before it.",
        "Its arguments are one JSON object with name and arguments, or a list of these.",
        "`<|im_end|>` ends an answer.",
    ]
    told = " ".join(explain_format(read_format(FILES["qwen3_coder"])))
    assert "one line break at each side of a value is dropped" in told
    assert "to the letter" in " ".join(explain_format(read_format(FILES["mimo"])))
    assert "may begin without an opener" in " ".join(explain_format(read_format(FILES["pythonic"])))


def test_a_turn_that_opens_the_reasoning_starts_in_it() -> None:
    text = 'name = "mine"\nturn = "<a><think>\\n"\nreasoning = "<think>\\n${reasoning}\\n</think>\\n\\n"\n'
    message = unspool.parse("Hm.\n</think>\n\nHello!", parse_format(text))
    assert (message.reasoning, message.content) == ("Hm.", "Hello!")


def test_a_dollar_may_be_text_and_a_line_break_in_either_quotes() -> None:
    text = "name = 'mine'\ncall = '<c$${>\\n${object}\\n</c>'\n"
    message = unspool.parse('<c${>\n{"name": "f"}\n</c>', parse_format(text))
    assert [call.name for call in message.tool_calls] == ["f"]


def test_everything_may_be_content() -> None:
    message = unspool.parse("<think>a</think>b", parse_format('name = "mine"\ncontent = "${content}"\n'))
    assert message.content == "<think>a</think>b"

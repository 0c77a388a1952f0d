"""An answer kept to listed texts, to a regular expression or to a client's grammar is read as such a text, or as calls."""

from __future__ import annotations

import contextlib
import itertools
import random
import re
from typing import Any

import pytest
import unspool
from unspool import ArgumentError
from unspool.core.regular.match_pattern import Matcher
from unspool.writing.rules.free_text import Words
from unspool.writing.rules.marker_free import restricted
from unspool.writing.rules.read_grammar import read_regex

from .matchers import LlguidanceMatcher
from .tools import fragments_of, tools_for
from .walks import Walker

CHOICE = ["yes", "yes indeed", 'no "quoted" \\', "a\nb", "é€😀", "<", "</", "null"]
REGEX = r"[A-Z]{2}-\d+( .*)?"
LARK = 'start: "a" /[^x\\n<>]+/ LF word+ -> w\nword: /[a-z]+/ " "\n%import common.LF'
AS_REGEX = "a[^x\n<>]+\n([a-z]+ )+"
GBNF = 'root ::= "x" [0-9]+ (" " [a-z]+ | "\\n")*  # a comment\n'
KINDS: list[tuple[dict[str, Any], str]] = [
    ({"choice": CHOICE}, "|".join(map(re.escape, CHOICE))),
    ({"regex": REGEX}, REGEX),
    ({"response_grammar": LARK}, AS_REGEX),
    ({"response_grammar": GBNF}, "x[0-9]+( [a-z]+|\n)*"),
]


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("file", unspool.formats(), ids=lambda file: file.name)
@pytest.mark.parametrize(("asked", "pattern"), KINDS, ids=["choice", "regex", "lark", "gbnf"])
def test_the_content_is_such_a_text(file: unspool.FormatFile, asked: dict[str, Any], pattern: str) -> None:
    if file.name == "ui_tars" and "regex" in asked:  # its markers are words: too many states without them
        with pytest.raises(ArgumentError, match="the regex admits may hold"):
            file.grammar([], **asked)
        return
    for tools in [[], tools_for(file)] if file.has_tools else [[]]:
        grammar = file.grammar(tools, **asked)
        walker = Walker.of(grammar.text, fragments_of(file, tools), random.Random(file.name))
        walks = (walker.walk(40) for _ in range(60))
        texts = list(itertools.islice((text for text in walks if text is not None), 4))
        assert texts, "no walk came to an end"
        for text in texts:
            message = (
                unspool.parse(text, file, tools) if tools else unspool.parse(text, file, tool_choice="none")
            )
            assert not message.malformed, text
            assert bool(message.tool_calls) != bool(message.content), text
            if "\n" in pattern and not message.tool_calls:
                # The end of a text may be the white space before a marker.
                assert re.fullmatch(pattern, message.content) or re.fullmatch(pattern, message.content + "\n")
            elif not message.tool_calls:
                assert re.fullmatch(pattern, message.content), text


@pytest.mark.parametrize("name", ["hermes", "openai", "ernie45", "pythonic", "none"])
def test_each_text_of_a_choice_can_be_written(name: str) -> None:
    file = unspool.get_format(name)
    grammar = file.grammar(choice=CHOICE)
    for text in CHOICE:
        matcher = LlguidanceMatcher(grammar.text)
        matcher.take(file.render({"content": text}, continues=True).encode())
        assert matcher.may_end(), text


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"choice": []}, "list 1 to"),
        ({"choice": ["a", ""]}, "not empty"),
        ({"choice": "yes"}, "pass a list"),
        ({"choice": ["ok", "a <tool_call> b"]}, "'<tool_call>' is a marker"),
        ({"choice": ["a"], "regex": "b"}, "one of them"),
        ({"regex": "(?=a)"}, "looks ahead"),
        ({"regex": "(a{1000}){1000}"}, "repeats more than"),
        ({"regex": "<tool_call>"}, "'<tool_call>', a marker"),
        ({"response_grammar": "start: x"}, "no rule 'x'"),
        ({"response_grammar": "x: /a/"}, "no rule 'start'"),
        ({"response_grammar": 'start: "a" start'}, "without end"),
        ({"response_grammar": 'start: "a'}, "line 1"),
        ({"response_grammar": 'start: ("a" ~ 900) ~ 900'}, "repetition of more than"),
        ({"response_grammar": 'start: A\nA: B "x"\nB: A | "y"'}, "holds itself"),
        ({"response_grammar": "start: " + "(" * 3000}, "deeper than"),
        ({"response_grammar": 'start: %json {"type": "object"}'}, "cannot be read"),
        ({"response_grammar": 'start: "a"\n%import common'}, "not supported"),
        ({"response_grammar": 'start: "a"\n%import common.(LF'}, "no name to import"),
        ({"response_grammar": 'start: "a" ~'}, "no number"),
        ({"response_grammar": "x" * 60_000}, "longer than"),
        ({"response_grammar": "start: " + "/a{900}b{900}/ " * 500}, "more than 20,000"),
        ({"choice": ["x" * 999] * 100}, "more than 50,000"),
        ({"regex": "(.{0,90}a){40}"}, "a marker"),
        ({"response_grammar": 'root ::= "<tool" "_call>"'}, "'<tool_call>', a marker"),
    ],
)
def test_what_cannot_be_enforced_is_refused(asked: dict[str, Any], why: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(why)):
        unspool.get_format("hermes").grammar(**asked)


def test_a_text_that_begins_as_a_call_is_refused_only_beside_tools() -> None:
    file = unspool.get_format("llama3_json")
    assert file.grammar(choice=['{"name": "f"}'])
    for asked in (
        {"choice": ['{"name": "f"}']},
        {"response_grammar": 'start: /[{]/ "x"'},
        {"regex": r"\{.*"},
    ):
        with pytest.raises(ArgumentError, match="call of the format"):
            file.grammar(tools_for(file), **asked)


@pytest.mark.parametrize("pattern", [r".*", r"[a-c]*b{1,3}", r"(ab|a<b?)*", r"[^\n]*x", r"(a|\n<){0,4}>"])
def test_a_restricted_expression_has_the_texts_without_the_words(pattern: str) -> None:
    whole = read_regex(pattern).part  # type: ignore[attr-defined]
    found = restricted(whole, Words(["bb", "<b", "a<"]))
    assert found is not None
    narrowed, draw = Matcher(found), random.Random(1)
    for _ in range(3000):
        text = "".join(draw.choices("abcx<>\n", k=draw.randrange(8)))
        expected = Matcher(whole).matches(text) and not any(word in text for word in ("bb", "<b", "a<"))
        assert narrowed.matches(text) == expected, text


def test_a_damaged_grammar_is_read_or_refused() -> None:
    draw, file = random.Random(3), unspool.get_format("hermes")
    letters = '():|*+?[]{}"/\\~.,-<>%#@=;\n aZ09_é\ud800😀^$&!'
    for _ in range(300):
        name, text = draw.choice([("response_grammar", LARK), ("response_grammar", GBNF), ("regex", REGEX)])
        for _ in range(draw.randrange(1, 6)):
            at = draw.randrange(len(text) + 1)
            text = text[:at] + draw.choice(["", draw.choice(letters)]) + text[at + draw.randrange(2) :]
        with contextlib.suppress(ArgumentError):
            file.grammar(**{name: text})

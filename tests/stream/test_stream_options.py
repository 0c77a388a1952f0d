"""Signatures, stubs, docstrings and pages say what the table of options says."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
import typing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import unspool
from unspool import ArgumentError, Parser, TokenStreamer, Vocabulary, _core
from unspool.core import native_call
from unspool.core.format.compile_format import compile_format
from unspool.core.stream.parser_options import PARSING_OPTIONS, ParsingOptions
from unspool.core.stream.stream_options import CORE_OPTIONS, DELIVERY_OPTIONS, PARSER_OPTIONS, Option
from unspool.core.stream.stream_recipe import RECIPE_OPTIONS, make_recipe, recipe_options

from ..scripts import load_script

ROOT = Path(__file__).parents[2]
in_checkout = pytest.mark.skipif(not (ROOT / "csrc").is_dir(), reason="runs in a checkout")
STREAMER_OPTIONS = {
    name: option
    for name, option in {**PARSER_OPTIONS, **DELIVERY_OPTIONS}.items()
    if name not in ("only_reasoning", "tokenizer")
}
MAKER = load_script(ROOT / "docs" / "make_options.py") if (ROOT / "csrc").is_dir() else None
BYTE = Vocabulary({"a": 0}, [])
CLASSES = [
    pytest.param(Parser, PARSER_OPTIONS, id="Parser"),
    pytest.param(TokenStreamer, STREAMER_OPTIONS, id="TokenStreamer"),
]


@pytest.mark.parametrize(("cls", "options"), CLASSES)
def test_signatures(cls: type, options: dict[str, Option]) -> None:
    parameters = inspect.signature(cls).parameters.values()
    keywords = {item.name: item.default for item in parameters if item.kind is item.KEYWORD_ONLY}
    assert keywords == {name: option.default for name, option in options.items()}
    rest = [item.name for item in parameters if item.kind is not item.KEYWORD_ONLY]
    # The last one takes what no option is named, to raise.
    assert rest == (["tokenizer"] if cls is TokenStreamer else []) + ["format", "tools", "unknown"]


@pytest.mark.parametrize(("cls", "options"), CLASSES)
def test_types(cls: Any, options: dict[str, Option]) -> None:
    hints = typing.get_type_hints(cls.__init__)
    for name, option in options.items():
        alternatives = typing.get_args(hints[name]) or (hints[name],)
        if option.words:
            words = [word for item in (hints[name], *alternatives) for word in typing.get_args(item)]
            assert set(words) >= set(option.words), name
            assert {word for word in words if isinstance(word, str)} == set(option.words), name
        elif hints[name] is not Any and option.default != ():
            assert type(option.default) in alternatives, name


@pytest.mark.parametrize(("cls", "options"), [(Parser, PARSER_OPTIONS), (TokenStreamer, DELIVERY_OPTIONS)])
def test_docstrings(cls: type, options: dict[str, Option]) -> None:
    text = inspect.getdoc(cls) or ""
    arguments = textwrap.dedent(text.partition("Args:\n")[2].partition("\n\n")[0])
    entries = dict(re.findall(r"^(\w+): (.*(?:\n .*)*)", arguments, re.M))
    said = {name: " ".join(entries.get(name, "").split()) for name in options}
    assert said == {name: option.meaning for name, option in options.items()}
    assert set(entries) - set(options) <= {"format", "tools", "tokenizer"}


@pytest.mark.parametrize("name", sorted(STREAMER_OPTIONS | PARSER_OPTIONS))
def test_every_option_is_passed_on(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}

    class Seen(Exception):
        pass

    def see(*arguments: Any, **delivery: Any) -> Any:
        if len(arguments) == 4:  # of `choose_recipe`
            arguments = (None, *arguments[:3], None, None, arguments[3])
        given.clear()
        given.update(delivery, tokenizer=arguments[3], prompt=arguments[4], reasoning_field=arguments[5])
        given.update(zip(RECIPE_OPTIONS, arguments[6], strict=True))
        raise Seen

    value = object()
    for module in ("unspool.streams.parser", "unspool.streams.token_streamer"):
        monkeypatch.setattr(sys.modules[module], "begin_stream", see)
    if name in PARSER_OPTIONS:
        with pytest.raises(Seen):
            Parser("hermes", **{name: value})
        assert given[name] is value
        assert given.keys() == PARSER_OPTIONS.keys()
    if name in STREAMER_OPTIONS and name != "skip_prompt":
        with pytest.raises(Seen):
            TokenStreamer(BYTE, "hermes", **{name: value})
        assert given[name] is value
    monkeypatch.setattr(sys.modules["unspool.streams.parse_batch"], "choose_recipe", see)
    if name in (*RECIPE_OPTIONS, "tokenizer"):
        with pytest.raises(Seen):
            unspool.parse_batch([], "hermes", **{name: value})
        assert given[name] is value


def stub_defaults(name: str) -> dict[str, Any]:
    tree = ast.parse((ROOT / "python" / "unspool" / "_core.pyi").read_text())
    cls = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    made = next(node for node in cls.body if isinstance(node, ast.FunctionDef) and node.name == "__init__")
    optional = made.args.args[len(made.args.args) - len(made.args.defaults) :]
    names = [item.arg for item in (*optional, *made.args.kwonlyargs)]
    defaults = (*made.args.defaults, *made.args.kw_defaults)
    return {
        name: default and ast.literal_eval(default) for name, default in zip(names, defaults, strict=True)
    }


@in_checkout
@pytest.mark.parametrize("cls", [_core.TokenStreamer, _core.StreamRecipe])
def test_stub(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stub = stub_defaults(cls.__name__)
    texts: list[str] = []
    monkeypatch.setattr(native_call, "explain", lambda error, *_: texts.append(str(error)))
    with pytest.raises(TypeError):  # its own text shows what the binding takes
        cls()
    native = dict(re.findall(r"(\w+): [^=,]+ = ([^,)]+)", texts[0]))
    for name in stub.keys() & DELIVERY_OPTIONS.keys():
        assert stub[name] == DELIVERY_OPTIONS[name].default
    assert {name: repr(default) for name, default in stub.items()} == native


@in_checkout
@pytest.mark.parametrize("path", MAKER.FILES if MAKER else [])
def test_what_is_written_from_the_table(path: str) -> None:
    assert MAKER
    assert (ROOT / path).read_text(encoding="utf-8") == MAKER.make(path), "run python docs/make_options.py"


@in_checkout
def test_pages() -> None:
    how = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
    units = {"": 1, " MiB": 1 << 20}
    limits = re.findall(r"^\| `(max_\w+)` \| ([\d,]+)( MiB|) \|", how, re.M)
    shown = {name: int(number.replace(",", "")) * units[unit] for name, number, unit in limits}
    assert shown == {name: option.default for name, option in CORE_OPTIONS.items() if name[:4] == "max_"}
    policies = how.partition("## Policies")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)(?:=\w+)?` \| (.*) \|$", policies, re.M)
    for name, text in rows:
        words = (*PARSER_OPTIONS[name].words, "content") if name in PARSER_OPTIONS else ()
        assert name in (*PARSER_OPTIONS, "tools")
        assert all(f'`"{word}"`' in text for word in words[:-1]), name
    assert len(rows) == policies.count("\n| `")


def test_a_request_has_every_option_that_is_not_a_part_of_it() -> None:
    parts = {"only_reasoning", "keep_message", "tokenizer", "prompt", "reasoning", "tool_choice", "stop"}
    assert PARSER_OPTIONS.keys() - parts == PARSING_OPTIONS
    types, hints = typing.get_type_hints(ParsingOptions), typing.get_type_hints(Parser.__init__)
    assert types == {name: hints[name] for name in PARSING_OPTIONS}


WRONG = [
    ("repair", "yes", TypeError, "repair is of type str; pass a bool"),
    ("stop_in", 3, TypeError, "stop_in is of type int; pass a str"),
    ("stop", [3], TypeError, "stop is of type list; pass a str, or a list of str"),
    ("max_calls", 1.5, TypeError, "max_calls is of type float; pass an int"),
    ("max_depth", 513, ArgumentError, "max_depth must be from 1 to 512; got 513"),
    ("max_calls", -(2**70), ArgumentError, "max_calls must be from 1 to 1073741824; got -1180591620717"),
    (
        "id_seed",
        2**64,
        ArgumentError,
        "id_seed must be from 0 to 18446744073709551615; got 1844674407370955161",
    ),
    (
        "unknown_tools",
        "x",
        ArgumentError,
        "unknown_tools is 'x'; use 'forward', 'content' or 'drop-with-report'",
    ),
    ("incomplete_calls", "", ArgumentError, "incomplete_calls is ''; use 'forward' or 'withhold'"),
]


@pytest.mark.parametrize(("name", "value", "error", "words"), WRONG)
def test_wrong_values(name: str, value: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        _core.StreamRecipe(compile_format("hermes"), {name: value})
    with pytest.raises(error, match=words):
        Parser("hermes", **{name: value})


@pytest.mark.parametrize("make", [Parser, partial(TokenStreamer, BYTE), partial(unspool.parse_batch, [])])
def test_there_is_no_such_option(make: Any) -> None:
    with pytest.raises(TypeError, match="'color'"):
        make("hermes", color="red")


def test_defaults_are_the_structs() -> None:
    """A stream without any option reads as one with every default written out."""
    text = 'a <tool_call>{"name": "f", "arguments": {"a": [1, 2]}}</tool_call> b'
    bare = _core.TokenStreamer(_core.StreamRecipe(compile_format("hermes"), {"id_seed": 1}))
    given = {name: option.default for name, option in PARSER_OPTIONS.items()}
    recipe, _ = make_recipe("hermes", recipe_options({**given, "id_seed": 1}))
    full = _core.TokenStreamer(recipe)
    assert bare.parse_chunk(text, None, "stop") == full.parse_chunk(text, None, "stop")

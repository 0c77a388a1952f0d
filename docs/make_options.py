"""Writes what the table of options says wherever an option is spelled: `python docs/make_options.py`.

That is docs/options.md, the types of the core's choices, the type of all options, and the signatures and docstrings
of `Parser` and `TokenStreamer`.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path

from unspool.core.stream.stream_options import CORE_OPTIONS, DELIVERY_OPTIONS, PARSER_OPTIONS, Option
from unspool.core.stream.stream_recipe import RECIPE_OPTIONS

ROOT = Path(__file__).parents[1]
WIDTH = 110
PAGE = """# Options of a stream

`Parser`, `parse` and `parse_batch` accept all options of the first table. `TokenStreamer` accepts all of them except
`only_reasoning`, and those of the second table. [How it works](how-it-works.md#policies) explains the policies. `python
docs/make_options.py` generates this page from the options' definitions, and a test checks that the page is up to date.

A C++ host sets the options of the core as fields of `TokenStreamerOptions`, or by name with `set_option`
([embedding](embedding.md)).

"""

#: Options of `Parser` that `TokenStreamer` does not have, with the value that it passes on.
FIXED = {"only_reasoning": "False"}
STREAMER_OPTIONS = {
    name: option
    for name, option in {**PARSER_OPTIONS, **DELIVERY_OPTIONS}.items()
    if name not in (*FIXED, "tokenizer")  # `tokenizer` is the first argument
}


def row(option: Option) -> str:
    """One line of a table of the page."""
    choices = f" One of {', '.join(f'`{word}`' for word in option.words)}." if option.words else ""
    return f"| `{option.name}` | `{option.default!r}` | {option.meaning}{choices} |\n"


def table(options: Iterable[Option]) -> str:
    """Options by name."""
    rows = sorted(options, key=lambda option: option.name)
    return "| option | default | meaning |\n|---|---|---|\n" + "".join(map(row, rows))


def make_page() -> str:
    """The whole page."""
    delivery = "\n## Options of `TokenStreamer` alone\n\n" + table(DELIVERY_OPTIONS.values())
    return PAGE + table(PARSER_OPTIONS.values()) + delivery


def literal(value: object) -> str:
    """A value in Python, with double quotes."""
    return '"' + value + '"' if isinstance(value, str) else repr(value)


def choices_of(option: Option) -> str:
    """The type of a choice."""
    return f"Literal[{', '.join(map(literal, option.words))}]"


def type_of(option: Option) -> str:
    """The annotation of an option's parameter."""
    if option.type:
        return option.type
    if option.words:
        return choices_of(option) + (" | None" if option.default is None else "")
    return "str | Sequence[str]" if option.default == () else type(option.default).__name__


def keywords(options: Mapping[str, Option]) -> str:
    """The options as keyword parameters."""
    lines = [f"{name}: {type_of(option)} = {literal(option.default)},\n" for name, option in options.items()]
    return textwrap.indent("".join(lines), " " * 8)


def values(fixed: Mapping[str, str]) -> str:
    """The values of `RECIPE_OPTIONS` as a tuple; `fixed` has those that are no parameter."""
    indent = " " * 12
    listed = ", ".join(fixed.get(name, name) for name in RECIPE_OPTIONS) + ","
    lines = textwrap.fill(listed, WIDTH, initial_indent=indent, subsequent_indent=indent)
    return f"        options = (  # of RECIPE_OPTIONS\n{lines}\n        )  # fmt: skip\n"


TYPED = '''"""The options of `Parser` as types, for functions that pass them on. Written by docs/make_options.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from unspool.core.format.other_families import Also

__all__ = ["PARSING_OPTIONS", "AnswerOptions", "ParserOptions", "ParsingOptions", "SharedOptions"]


class ParsingOptions(TypedDict, total=False):
    """The options that a model or a request may set; a missing one has its default."""

{parsing}

class SharedOptions(ParsingOptions, total=False):
    """With those that come from other parts of a request."""

{shared}

class ParserOptions(SharedOptions, total=False):
    """All options of `Parser`."""

{own}

class AnswerOptions(ParsingOptions, total=False):
    """The options of an answer's stream: also those that come from other parts of its request."""

{answer}

#: The names of `ParsingOptions`.
PARSING_OPTIONS = frozenset(ParsingOptions.__annotations__)
'''
#: What `SharedOptions`, `ParserOptions` and `AnswerOptions` add.
SHARED = ("reasoning", "tool_choice", "stop", "keep_message", "only_reasoning")
OWN = ("prompt", "tokenizer")
ADDED_BY_ANSWER = ("reasoning", "tool_choice", "stop", "prompt")


def make_typed() -> str:
    """The whole file."""
    parsing = [name for name in PARSER_OPTIONS if name not in (*SHARED, *OWN)]
    parts = {"parsing": parsing, "shared": SHARED, "own": OWN, "answer": ADDED_BY_ANSWER}
    return TYPED.format(**{part: members(names) for part, names in parts.items()})


def members(names: Iterable[str]) -> str:
    """Options as members of a `TypedDict`."""
    return "".join(f"    {name}: {type_of(PARSER_OPTIONS[name])}\n" for name in names)


def choices(options: Mapping[str, Option]) -> str:
    """A type for each choice, under the option's name in capitals."""
    named = {
        "".join(map(str.capitalize, option.name.split("_"))): choices_of(option)
        for option in options.values()
        if option.words
    }
    lines = [f"{name} = {named[name]}\n" for name in sorted(named)]
    return "".join(lines) + f"__all__ += [{', '.join(map(literal, sorted(named)))}]  # fmt: skip\n"


def sentences(options: Mapping[str, Option]) -> str:
    """The options as entries of a docstring's `Args`."""
    return "".join(
        textwrap.fill(
            f"{name}: {option.meaning}",
            WIDTH,
            initial_indent=" " * 8,
            subsequent_indent=" " * 12,
            break_long_words=False,
            break_on_hyphens=False,
        )
        + "\n"
        for name, option in options.items()
    )


def with_blocks(source: str, **blocks: str) -> str:
    """Write each block between its two comments."""
    for name, text in blocks.items():
        pattern = rf"( *# Written by docs/make_options.py: {name}\.\n).*?( *# End\.\n)"
        source, count = re.subn(pattern, lambda found: found[1] + text + found[2], source, flags=re.S)  # noqa: B023
        assert count == 1, f"no block for {name}"
    return source


def with_sentences(source: str, options: Mapping[str, Option]) -> str:
    """Write the entries of the first docstring, from that of an option to the last."""
    pattern = rf"^        (?:{'|'.join(options)}): .*?\n(?=\n)"
    source, count = re.subn(pattern, lambda _: sentences(options), source, count=1, flags=re.S | re.M)
    assert count == 1, "no docstring with options"
    return source


def make(path: str) -> str:
    """What a file should be."""
    if path == "docs/options.md":
        return make_page()
    if path == TYPES:
        return make_typed()
    source = (ROOT / path).read_text(encoding="utf-8")
    if path == PARSER:
        source = with_blocks(source, keywords=keywords(PARSER_OPTIONS), values=values({}))
        return with_sentences(source, PARSER_OPTIONS)
    if path == STREAMER:
        source = with_blocks(source, keywords=keywords(STREAMER_OPTIONS), values=values(FIXED))
        return with_sentences(source, DELIVERY_OPTIONS)
    return with_blocks(source, choices=choices(CORE_OPTIONS))


PARSER = "python/unspool/streams/parser.py"
STREAMER = "python/unspool/streams/token_streamer.py"
TYPES = "python/unspool/core/stream/parser_options.py"
FILES = ("docs/options.md", "python/unspool/core/stream/stream_options.py", TYPES, PARSER, STREAMER)

if __name__ == "__main__":
    for each in FILES:
        (ROOT / each).write_text(make(each), encoding="utf-8")
    sys.exit(0)

"""Writes docs/options.md from the table of options: `python docs/make_options.py`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from unspool.core.stream.stream_options import DELIVERY_OPTIONS, PARSER_OPTIONS, Option

PAGE = Path(__file__).parent / "options.md"
HEAD = """# Options of a stream

`Parser`, `parse` and `parse_batch` accept all options of the first table. `TokenStreamer` accepts all of them except
`only_reasoning`, and those of the second table. [How it works](how-it-works.md#policies) explains the policies. `python
docs/make_options.py` generates this page from the options' definitions, and a test checks that the page is up to date.

A C++ host sets the options of the core as fields of `TokenStreamerOptions`, or by name with `set_option`
([embedding](embedding.md)).

"""


def row(option: Option) -> str:
    """One line of a table."""
    choices = f" One of {', '.join(f'`{word}`' for word in option.words)}." if option.words else ""
    return f"| `{option.name}` | `{option.default!r}` | {option.meaning}{choices} |\n"


def table(options: Iterable[Option]) -> str:
    """Options by name."""
    rows = sorted(options, key=lambda option: option.name)
    return "| option | default | meaning |\n|---|---|---|\n" + "".join(map(row, rows))


def make() -> str:
    """The whole page."""
    delivery = "\n## Options of `TokenStreamer` alone\n\n" + table(DELIVERY_OPTIONS.values())
    return HEAD + table(PARSER_OPTIONS.values()) + delivery


if __name__ == "__main__":
    PAGE.write_text(make(), encoding="utf-8")
    sys.exit(0)

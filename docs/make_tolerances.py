"""Writes docs/tolerances.md from tests/parser/tolerances.toml: `python docs/make_tolerances.py`."""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DOCS = Path(__file__).parent
PAGE = DOCS / "tolerances.md"
RULES = DOCS.parent / "tests" / "parser" / "tolerances.toml"
HEAD = """# Tolerances

Models deviate from their templates. This page lists the deviations that the parser accepts, and their results. The rules are part
of the parser and apply to every format, so format files do not mention them. The last three groups apply only with `repair=True`,
with `also=` and with `unmarked_calls=True`. Without `repair=True`, the calls in its group are malformed. Without the other two
options, the calls in their groups are content.

`python docs/make_tolerances.py` generates this page from `tests/parser/tolerances.toml`, and a test checks that it is up to date. That
file has cases for each rule, and a test parses each case at every split. [How it works](how-it-works.md) explains some rules in more
detail.
"""


AMBIGUOUS = """
## Ambiguous outputs

These outputs can be read in two ways, and nothing in their text distinguishes the two. The table lists the reading that the parser takes.

| output | result |
|---|---|
"""


def read_rules() -> list[dict[str, Any]]:
    """The rules, each with its cases."""
    rules: list[dict[str, Any]] = tomllib.loads(RULES.read_text(encoding="utf-8"))["rule"]
    return rules


def read_ambiguous() -> list[dict[str, str]]:
    """The outputs with two readings."""
    outputs: list[dict[str, str]] = tomllib.loads(RULES.read_text(encoding="utf-8"))["ambiguous"]
    return outputs


def section(group: str, rules: list[dict[str, Any]]) -> str:
    """One group's table."""
    rows = [f"| {rule['name']} | {rule['what']} | `{rule['where']}` |\n" for rule in rules]
    return f"\n## {group}\n\n| output | result | code |\n|---|---|---|\n" + "".join(rows)


def make() -> str:
    """The whole page."""
    groups = groupby(read_rules(), key=lambda rule: rule["group"])
    ambiguous = "".join(f"| {each['output']} | {each['becomes']} |\n" for each in read_ambiguous())
    return HEAD + "".join(section(group, list(rules)) for group, rules in groups) + AMBIGUOUS + ambiguous


if __name__ == "__main__":
    PAGE.write_text(make(), encoding="utf-8")

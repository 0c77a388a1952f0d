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

Models do not always write what their template shows. What the parser makes of it is a rule of the machine, true for every
format; no format file names one. The last group holds only with `repair=True`, the others always.

Made from `tests/parser/tolerances.toml` by `python docs/make_tolerances.py`; a test compares. Each rule has its cases there,
and a test reads each case at every split. [How it works](how-it-works.md) explains the longer ones.
"""


def read_rules() -> list[dict[str, Any]]:
    """The rules, each with its cases."""
    rules: list[dict[str, Any]] = tomllib.loads(RULES.read_text(encoding="utf-8"))["rule"]
    return rules


def section(group: str, rules: list[dict[str, Any]]) -> str:
    """One group's table."""
    rows = [f"| {rule['name']} | {rule['what']} | `{rule['where']}` |\n" for rule in rules]
    return f"\n## {group}\n\n| the output | what you get | where |\n|---|---|---|\n" + "".join(rows)


def make() -> str:
    """The whole page."""
    groups = groupby(read_rules(), key=lambda rule: rule["group"])
    return HEAD + "".join(section(group, list(rules)) for group, rules in groups)


if __name__ == "__main__":
    PAGE.write_text(make(), encoding="utf-8")

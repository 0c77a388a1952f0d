"""Writes docs/command-line.md from the commands' own help, and the table of options in docs/server.md from the settings.

Run it after a change of either: `python docs/make_command_line.py`.
"""

from __future__ import annotations

import re
from pathlib import Path

import click
from unspool.__main__ import cli
from unspool.serve import ServeOptions
from unspool.serve.setting_table import SettingField, describe, fields_of

PAGE = Path(__file__).with_name("command-line.md")
SERVER_PAGE = Path(__file__).with_name("server.md")
HEAD = """---
extras: [cli]
---
# Command line

The program needs `pip install '.[cli]'`. For bad input it prints one line on standard error, and the exit code is 2.
`python docs/make_command_line.py` makes this page from the help of the commands, and a test compares the two.
"""


def section(name: str, command: click.Command) -> str:
    """A command's help."""
    width = {"terminal_width": 100, "max_content_width": 100}
    context = click.Context(command, info_name=f"unspool {name}", **width, **cli.context_settings)
    return f"\n## unspool {name}\n\n```text\n{command.get_help(context)}\n```\n"


def make() -> str:
    """The whole page."""
    return HEAD + "".join(section(name, command) for name, command in sorted(cli.commands.items()))


def row(field: SettingField) -> str:
    """One line of the table of the server's options."""
    flag = f"`{field.flag}`" if field.flag else "–"
    return f"| `{field.name}` | {flag} | `{field.default!r}` | {describe(field)} |\n"


def with_options(page: str) -> str:
    """The page on the server, with the table of its options."""
    head = "| option of `ServeOptions` | flag | default | meaning |\n|---|---|---|---|\n"
    table = head + "".join(map(row, fields_of(ServeOptions)))
    pattern = r"(<!-- options: .*? -->\n).*?(<!-- end of options -->)"
    return re.sub(pattern, lambda match: f"{match[1]}\n{table}\n{match[2]}", page, flags=re.S)


if __name__ == "__main__":
    SERVER_PAGE.write_text(with_options(SERVER_PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    PAGE.write_text(make(), encoding="utf-8")

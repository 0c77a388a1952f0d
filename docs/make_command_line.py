"""Writes docs/command-line.md from the commands' own help: `python docs/make_command_line.py`."""

from __future__ import annotations

from pathlib import Path

import click
from unspool.__main__ import cli

PAGE = Path(__file__).with_name("command-line.md")
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


if __name__ == "__main__":
    PAGE.write_text(make(), encoding="utf-8")

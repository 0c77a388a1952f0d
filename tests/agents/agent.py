"""An agent as its file in tests/agents/agents describes it: docs/agents.md shows it, run.py runs it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Agent", "Api", "Call", "agents", "filled"]

FOLDER = Path(__file__).with_name("agents")


@dataclass(frozen=True)
class Call:
    """A call of an agent's tool."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Api:
    """What a user does so that an agent speaks one of the server's APIs.

    Attributes:
        file: Where `text` belongs; "" if there is no file.
        env: Variables.
        arguments: Of the command.
        first: A command that is run once.
        replaced: What differs from the agent's first API, old and new.
    """

    name: str
    file: str = ""
    text: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)
    first: list[str] = field(default_factory=list)
    replaced: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Agent:
    """An agent, its APIs, and the tools by which a script has it do something.

    Attributes:
        command: What a user types; `headless` makes of it a run that asks nobody.
        resume: As `headless`, for the next turn of its last session; [] if only a terminal resumes one.
        shell, write, end: Calls with COMMAND, PATH and TEXT to be filled in.
        answer: Where it has no tools: the text that writes a file.
        quiet: Variables and files that keep it off the network, for tests alone.
        is_python: Whether the package is PyPI's.
        loses: Characters that break the sessions that it keeps.
    """

    id: str
    name: str
    package: str
    home_page: str
    command: list[str]
    headless: list[str]
    apis: list[Api]
    shell: Call | None = None
    write: Call | None = None
    end: Call | None = None
    resume: list[str] = field(default_factory=list)
    answer: str = ""
    quiet: Mapping[str, Any] = field(default_factory=dict)
    is_python: bool = False
    loses: str = ""

    @property
    def version(self) -> str:
        """The version that install.sh installs."""
        if self.is_python:
            (line,) = (FOLDER.parent / "python" / f"{self.package}.txt").read_text().split()
            return line.partition("==")[2]
        packages = json.loads((FOLDER.parent / "package.json").read_text())["dependencies"]
        return str(packages[self.package])


def agents() -> list[Agent]:
    """All agents, by name."""
    return sorted(map(_read, FOLDER.glob("*.toml")), key=lambda agent: agent.name.lower())


def _read(path: Path) -> Agent:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    for tool in ("shell", "write", "end"):
        if tool in data:
            data[tool] = Call(**data[tool])
    return Agent(id=path.stem, **{**data, "apis": _apis(data["apis"])})


def _apis(tables: Mapping[str, dict[str, Any]]) -> list[Api]:
    """Each as it is, or as the first one with texts replaced."""
    first = next(iter(tables.values()))
    made = []
    for name, table in tables.items():
        replaced = table.pop("replace", {})
        made.append(Api(name, **(filled(first, replaced) if replaced else {}), **table, replaced=replaced))
    return made


def filled(value: Any, names: Mapping[str, str]) -> Any:
    """The value with names replaced in each of its texts."""
    if isinstance(value, str):
        for name, text in names.items():
            value = value.replace(name, text)
        return value
    if isinstance(value, Mapping):
        return {key: filled(inner, names) for key, inner in value.items()}
    return [filled(inner, names) for inner in value] if isinstance(value, list) else value

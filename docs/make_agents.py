"""Writes docs/agents.md from what tests/agents runs, and from what came of it: `python docs/make_agents.py`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.agents.agent import Agent, Api, agents  # noqa: E402
from tests.agents.results import Result, kept  # noqa: E402

PAGE = Path(__file__).with_name("agents.md")
HEAD = """---
extras: [serve]
---
# Agents

Coding agents work with [`unspool serve`](server.md) unchanged. Paste the lines below, and replace `MODEL` with the model's
name. `none` stands for the key: the server ignores it unless you start it with `--api-key`.

The table shows what each agent did in a test. `python -m tests.agents.run FOLDER` runs every agent without a network. The
server's model writes a script: it runs a command, writes a file with every kind of character, makes two calls at once, and
ends. A second prompt to the same session follows. Then the agent aborts a long answer, and the model must stop. Each agent
runs twice: with a chat template that can switch the reasoning off, and with one that cannot.

"""
NOTES = """
- _Thoughts_ are the model's reasoning before a call. Models are trained to see their thoughts again with the call's result.
  _Yes_: the agent sends the thoughts back. _Not sent_: the agent drops them. _As text_: the agent sends them as text.
- _In the second turn_ shows whether the agent still sends the thoughts of the first turn. Most chat templates leave these
  out. _No second turn_: the agent cannot resume a session without a terminal.
- _Ignored_ lists fields that the agent sends and the server ignores. The header `x-unspool-ignored` of an answer lists them
  ([fields](server.md#fields)).
- _Switch_ and _no switch_ are the two chat templates: one can switch the reasoning off, the other cannot.
"""
FRAMEWORKS = """
## Frameworks

A weekly job also runs Python frameworks. Each requests a text, a streamed text, a tool loop, and an object that follows a
schema. `python -m tests.agents.frameworks.run FOLDER` runs the same tests.

| framework | API | works | fails | thoughts come back | ignored |
|---|---|---|---|---|---|
"""
APIS = {
    "chat": "chat completions", "completions": "completions", "responses": "Responses", "messages": "Messages",
    "google": "generateContent",
}  # fmt: skip
LANGUAGES = {".json": "json", ".toml": "toml", ".yaml": "yaml"}


def table() -> Iterator[str]:
    """A row for each agent and API."""
    yield "| agent | API | works | thoughts come back | in the second turn | ignored |\n|---|---|---|---|---|---|\n"
    results = kept(ROOT / "tests/agents/results.json", "agent", "api", "template")
    for agent in agents():
        for api in agent.apis:
            runs = [run for key, run in results.items() if key[:2] == (agent.id, api.name)]
            yield (
                f"| [{agent.name}](#{agent.name.lower().replace(' ', '-')}) {agent.version} | {APIS[api.name]} | "
                f"{_both(runs, _works)} | {_both(runs, _thoughts)} | {_both(runs, _earlier)} | {_both(runs, _ignored)} |\n"
            )
    yield NOTES


def frameworks() -> Iterator[str]:
    """A row for each framework and API."""
    yield FRAMEWORKS
    folder = ROOT / "tests/agents/frameworks"
    for (name, _), result in kept(folder / "results.json", "framework", "api").items():
        first = (folder / "pins" / f"{name}.txt").read_text(encoding="utf-8").split()[0]
        title = re.sub(r"\[.*\]", "", first).replace("==", " ")
        cases = result["cases"]
        good = [case for case, fault in cases.items() if not fault]
        bad = [f"{case}: `{fault[:80]}`" for case, fault in cases.items() if fault]
        yield (
            f"| {title} | {APIS[result['api']]} | {', '.join(good)} | {'; '.join(bad)} | "
            f"{_thoughts(result)} | {_ignored(result)} |\n"
        )


def _both(runs: list[Result], said: Callable[[Result], str]) -> str:
    """What is said of both models; where they differ, of each."""
    texts = {run["template"]: said(run) for run in reversed(runs)}
    if len(set(texts.values())) < 2:
        return next(iter(texts.values()), "not run")
    return "; ".join(f"{template}: {text}" for template, text in texts.items() if text)


def _works(run: Result) -> str:
    missing = [name for name, is_done in run["done"].items() if not is_done]
    if missing:
        return f"not: {', '.join(missing)}"
    if "command" not in run["done"]:
        return f"{', '.join(run['done'])}: it has no tools"
    return "all" if "second turn" in run["done"] else "all; no second turn"


def _thoughts(run: Result, key: str = "thoughts") -> str:
    return {"kept": "yes"}.get(run[key], run[key])


def _earlier(run: Result) -> str:
    return _thoughts(run, "earlier_thoughts")


def _ignored(run: Result) -> str:
    return ", ".join(f"`{field}`" for field in run["ignored"])


def section(agent: Agent) -> Iterator[str]:
    """What to paste for one agent."""
    yield f"\n## {agent.name}\n\n[{agent.name}]({agent.home_page}) is "
    where = f"PyPI's `{agent.package}`" if agent.is_python else f"npm's `{agent.package}`"
    yield f"{where}.\n"
    if agent.loses:
        lost = " or ".join(char if char.isprintable() else f"U+{ord(char):04X}" for char in agent.loses)
        yield f"\nIf it resumes a session, text with `{lost}` is missing.\n"
    first = agent.apis[0]
    for api in agent.apis:
        if api.replaced:
            yield f"\nFor {APIS[api.name]}, write {_instead(api)} in the lines for {APIS[first.name]}.\n"
        else:
            yield f"\nFor {APIS[api.name]}:\n\n" + "\n".join(_blocks(agent, api))


def _instead(api: Api) -> str:
    return " and ".join(f"`{new}` instead of `{old}`" for old, new in api.replaced.items())


def _blocks(agent: Agent, api: Api) -> Iterator[str]:
    if api.file:
        yield f"`{api.file}`\n\n```{LANGUAGES[Path(api.file).suffix]}\n{api.text.strip()}\n```\n"
    exports = [f"export {name}={value}" for name, value in api.env.items()]
    first = [" ".join(api.first)] if api.first else []
    yield "\n".join(["```bash", *exports, *first, " ".join([*agent.command, *api.arguments]), "```\n"])


def make() -> str:
    """The whole page."""
    sections = (text for agent in agents() for text in section(agent))
    return "".join([HEAD, *table(), *sections, *frameworks()])


if __name__ == "__main__":
    PAGE.write_text(make(), encoding="utf-8")

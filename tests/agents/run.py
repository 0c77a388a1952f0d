"""Runs each agent of tests/agents/agents over each API that it speaks: python -m tests.agents.run FOLDER

FOLDER is what install.sh has filled. Each run has a home, a folder to work in and a server of its own; nothing
leaves the machine. `--write` keeps the results for docs/agents.md. The status is 1 if something that worked in the
kept results works no longer.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .agent import Agent, Api, agents, filled
from .model import ScriptedModel, Step
from .results import Result, keep, kept
from .scenario import found, slow, thoughts_of, work
from .server import Exchange, serving

RESULTS = Path(__file__).with_name("results.json")
#: A model whose chat template can switch the reasoning off, and one that always reasons.
MODELS = {"switch": "qwen3", "no switch": "minimax_m2"}
_KEY = ("agent", "api", "template")
_NAME = "scripted"
_PROMPT = "Do what is to be done."
_LONGEST_S = 90
_DELAY_S = 0.05
# Whatever else an agent asks for ends at once, as without a network.
NO_NETWORK = {
    name: value
    for proxy, value in {
        "http_proxy": "http://127.0.0.1:9",
        "https_proxy": "http://127.0.0.1:9",
        "no_proxy": "127.0.0.1",
    }.items()
    for name in (proxy, proxy.upper())
}


@dataclass
class Run:
    """One agent over one API with one model, and what came of it."""

    agent: Agent
    api: Api
    template: str
    folder: Path
    done: dict[str, bool] = field(default_factory=dict)
    thoughts: str = ""
    ignored: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def result(self) -> Result:
        """What is kept of it."""
        return {
            "agent": self.agent.id, "api": self.api.name, "template": self.template, "done": self.done,
            "thoughts": self.thoughts, "ignored": sorted(set(self.ignored)), "faults": sorted(set(self.faults)),
        }  # fmt: skip

    def run(self) -> Run:
        """The work, and then a long answer that the agent leaves."""
        name = f"{self.agent.id}-{self.api.name}-{self.template}".replace(" ", "_")
        home = self.folder / "runs" / name
        shutil.rmtree(home, ignore_errors=True)
        steps = work(self.agent, home / "work")
        with self._begun(home, steps) as (model, process, exchanges):
            try:
                said, _ = process.communicate(timeout=_LONGEST_S)
            except subprocess.TimeoutExpired:
                self.faults.append(f"it does not end within {_LONGEST_S} s")
                os.killpg(process.pid, signal.SIGKILL)
                said, _ = process.communicate()
        (home / "said.txt").write_text(said, encoding="utf-8")
        if not model.prompts and not self.faults:
            self.faults.append(f"it asks for nothing, and says: {said[-300:]}")
        self.done = found(self.agent, home / "work", model.prompts, said)
        self.thoughts = thoughts_of(steps, model.prompts, exchanges)
        with self._begun(home, slow(self.agent), _DELAY_S) as (model, process, _):
            self.done["abort"] = _leaves(process, model)
        return self

    @contextlib.contextmanager
    def _begun(
        self, home: Path, steps: list[Step], delay_s: float = 0.0
    ) -> Iterator[tuple[ScriptedModel, subprocess.Popen[str], list[Exchange]]]:
        """A server around a scripted model, the agent at work on it, and what it asks."""
        model = ScriptedModel(MODELS[self.template], steps, self.template == "switch", delay_s)
        with serving({_NAME: model}) as (address, exchanges):
            names = {"http://127.0.0.1:11556": address, "MODEL": _NAME, "~/": f"{home}/", "PROMPT": _PROMPT}
            api, quiet = filled(asdict(self.api), names), filled(dict(self.agent.quiet), names)
            files = {**quiet.get("files", {}), **({api["file"]: api["text"]} if api["file"] else {})}
            for path, text in files.items():
                place = Path(filled(path, names))
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text, encoding="utf-8")
            for folder in ("work", "tmp"):
                (home / folder).mkdir(parents=True, exist_ok=True)
            bins = [self.folder / "node_modules/.bin", self.folder / "python" / self.agent.package / "bin"]
            env = {
                "PATH": ":".join([*map(str, bins), os.environ["PATH"]]), "HOME": str(home), "TMPDIR": str(home / "tmp"), "LANG": "C.UTF-8",
                "TERM": "dumb", "NO_COLOR": "1", **NO_NETWORK, **quiet.get("env", {}), **api["env"],
            }  # fmt: skip
            start: dict[str, Any] = {
                "cwd": home / "work", "env": env, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                "stderr": subprocess.STDOUT, "text": True, "errors": "replace", "start_new_session": True,
            }  # fmt: skip
            subprocess.run(["git", "init", "-q"], cwd=home / "work", check=True)
            if api["first"]:
                subprocess.run(api["first"], **start, timeout=_LONGEST_S, check=False)
            command, *arguments = filled(
                [*self.agent.command, *self.api.arguments, *self.agent.headless], names
            )
            if not any((bin / command).exists() for bin in bins):
                raise FileNotFoundError(f"{command} is not in {bins[self.agent.is_python]}: run install.sh")
            with subprocess.Popen([command, *arguments], **start) as process:
                try:
                    yield model, process, exchanges
                finally:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
        with (home / "exchanges.jsonl").open("a", encoding="utf-8") as log:
            log.writelines(exchange.to_json() + "\n" for exchange in exchanges)
        for exchange in exchanges:
            self.ignored += filter(None, exchange.ignored.split(", "))
            self.faults += filter(None, [exchange.fault])


def listen_to_interrupts() -> None:
    """Agents would ignore an interrupt as this process does, which a shell may have begun in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leaves(process: subprocess.Popen[str], model: ScriptedModel) -> bool:
    """Interrupts the agent in the middle of an answer: whether the model stops then."""

    def writes() -> bool:
        return any(stream.usage.completion_tokens > 5 for stream in model.streams)

    if not _comes(lambda: writes() or process.poll() is not None, _LONGEST_S) or not writes():
        return False
    os.killpg(process.pid, signal.SIGINT)
    return _comes(lambda: not any(stream.is_running for stream in model.streams), 10) and all(
        stream.result.choices[0].finish_reason == "cancelled" for stream in model.streams
    )


def _comes(is_there: Callable[[], bool], timeout_s: float) -> bool:
    end_s = time.monotonic() + timeout_s
    while time.monotonic() < end_s:
        if is_there():
            return True
        time.sleep(0.1)
    return False


def main() -> int:
    """Runs them, and prints a line for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="agents, APIs and templates: codex,chat")
    parser.add_argument("--at-once", type=int, default=os.cpu_count())
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    only = {word for word in asked.only.split(",") if word}
    runs = [
        Run(agent, api, template, asked.folder.resolve())
        for agent in agents()
        for api in agent.apis
        for template in MODELS
        if not only - {agent.id, api.name, template}
    ]
    results = []
    listen_to_interrupts()
    with ThreadPoolExecutor(asked.at_once) as pool:
        for run in pool.map(Run.run, runs):
            results.append(run.result)
            print(json.dumps(run.result, ensure_ascii=False), flush=True)
    broken = [line for result in results for line in _broken(result)]
    if asked.write:
        keep(RESULTS, results, *_KEY)
    print("\n".join(broken) or f"{len(results)} runs, nothing that worked is broken")
    return bool(broken)


def _broken(result: Result) -> Iterator[str]:
    """What the kept result has, and this one has not."""
    key = tuple(result[name] for name in _KEY)
    before = kept(RESULTS, *_KEY).get(key, {"done": {}, "thoughts": ""})
    lost = [name for name, done in before["done"].items() if done and not result["done"].get(name)]
    if before["thoughts"] == "kept" != result["thoughts"]:
        lost.append(f"thoughts, now {result['thoughts']}")
    if lost:
        yield f"{' '.join(key)}: {', '.join(lost)}; {result['faults']}"


if __name__ == "__main__":
    sys.exit(main())

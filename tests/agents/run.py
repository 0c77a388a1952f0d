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
from typing import TYPE_CHECKING, Any

from .agent import Agent, Api, agents, filled
from .model import ScriptedModel, Step
from .results import Result, keep, kept
from .scenario import NEXT_PROMPT, PROMPT, again, found, remembered, slow, thoughts_of, work
from .server import Exchange, serving

if TYPE_CHECKING:
    from .llama_cpp import LlamaCppModel

    Model = ScriptedModel | LlamaCppModel

RESULTS = Path(__file__).with_name("results.json")
#: A model whose chat template can switch the reasoning off, and one that always reasons.
MODELS = {"switch": "qwen3", "no switch": "minimax_m2"}
_KEY = ("agent", "api", "template")
_NAME = "scripted"
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
    engine: str = ""
    done: dict[str, bool] = field(default_factory=dict)
    thoughts: str = ""
    earlier_thoughts: str = ""
    ignored: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def result(self) -> Result:
        """What is kept of it."""
        return {
            "agent": self.agent.id, "api": self.api.name, "template": self.template, "done": self.done,
            "thoughts": self.thoughts, "earlier_thoughts": self.earlier_thoughts,
            "ignored": sorted(set(self.ignored)), "faults": sorted(set(self.faults)),
        }  # fmt: skip

    def run(self) -> Run:
        """The work, a second turn, and then a long answer that the agent leaves."""
        name = f"{self.agent.id}-{self.api.name}-{self.template}".replace(" ", "_")
        home = self.folder / "runs" / name
        shutil.rmtree(home, ignore_errors=True)
        steps = work(self.agent, home / "work")
        model, exchanges, said = self._to_its_end(home, steps)
        self.done = found(self.agent, home / "work", model.prompts, said)
        self.thoughts = thoughts_of(steps, model.prompts, exchanges)
        if self.agent.resume:
            model, exchanges, said = self._to_its_end(home, again(steps), is_next=True)
            # Whatever it asks after that is not of the turn.
            first = model.prompts[:1]
            self.done["second turn"] = remembered(steps, first, said)
            self.earlier_thoughts = thoughts_of(steps, first, exchanges)
        with self._begun(home, slow(self.agent), delay_s=_DELAY_S) as (model, process, _):
            self.done["abort"] = _leaves(process, model)
        return self

    def _to_its_end(
        self, home: Path, steps: list[Step], is_next: bool = False
    ) -> tuple[Model, list[Exchange], str]:
        """What the model and the server were asked, and what the agent said."""
        with self._begun(home, steps, is_next) as (model, process, exchanges):
            try:
                said, _ = process.communicate(timeout=_LONGEST_S)
            except subprocess.TimeoutExpired:
                self.faults.append(f"it does not end within {_LONGEST_S} s")
                _end(process, home)
                said, _ = process.communicate()
        with (home / "said.txt").open("a", encoding="utf-8") as log:
            log.write(said)
        if not model.prompts and not self.faults:
            self.faults.append(f"it asks for nothing, and says: {said[-300:]}")
        return model, exchanges, said

    @contextlib.contextmanager
    def _begun(
        self, home: Path, steps: list[Step], is_next: bool = False, delay_s: float = 0.0
    ) -> Iterator[tuple[Model, subprocess.Popen[str], list[Exchange]]]:
        """A server around a scripted model, the agent at work on it, and what it asks."""
        with self._model(steps, delay_s) as model, serving({_NAME: model}) as (address, exchanges):
            names = {
                "http://127.0.0.1:11556": address, "MODEL": _NAME, "~/": f"{home}/",
                "PROMPT": NEXT_PROMPT if is_next else PROMPT,
            }  # fmt: skip
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
                # Nobody reads what it writes: a daemon that it leaves behind would keep a pipe open.
                silent = {**start, "stdout": subprocess.DEVNULL}
                with contextlib.suppress(subprocess.TimeoutExpired):
                    subprocess.run(api["first"], **silent, timeout=_LONGEST_S, check=False)
            more = self.agent.resume if is_next else self.agent.headless
            command, *arguments = filled([*self.agent.command, *self.api.arguments, *more], names)
            if not any((bin / command).exists() for bin in bins):
                raise FileNotFoundError(f"{command} is not in {bins[self.agent.is_python]}: run install.sh")
            with subprocess.Popen([command, *arguments], **start) as process:
                try:
                    yield model, process, exchanges
                finally:
                    _end(process, home)
        with (home / "exchanges.jsonl").open("a", encoding="utf-8") as log:
            log.writelines(exchange.to_json() + "\n" for exchange in exchanges)
        for exchange in exchanges:
            self.ignored += filter(None, exchange.ignored.split(", "))
            self.faults += filter(None, [exchange.fault])

    @contextlib.contextmanager
    def _model(self, steps: list[Step], delay_s: float) -> Iterator[Model]:
        """In this process, or written by an engine."""
        if not self.engine:
            yield ScriptedModel(MODELS[self.template], steps, self.template == "switch", delay_s)
            return
        from .llama_cpp import playing

        with playing(steps, delay_s) as model:
            yield model


def heed_interrupts() -> None:
    """A shell has its background jobs ignore SIGINT, and whatever they start does so too."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(process: subprocess.Popen[str], home: Path) -> None:
    """Kills the agent, and whatever else has its home: a daemon is in a process group of its own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for environ in Path("/proc").glob("[0-9]*/environ"):
        # It may have ended, or be another user's.
        with contextlib.suppress(OSError):
            if f"HOME={home}".encode() in environ.read_bytes().split(b"\0"):
                os.kill(int(environ.parent.name), signal.SIGKILL)


def _leaves(process: subprocess.Popen[str], model: Model) -> bool:
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
    parser.add_argument("--engine", choices=("", "llamacpp"), default="", help="what writes the script")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    if asked.engine and asked.write:
        parser.error("--write keeps the results of runs without an engine; leave one out")
    heed_interrupts()
    only = {word for word in asked.only.split(",") if word}
    runs = [
        Run(agent, api, template, asked.folder.resolve(), asked.engine)
        for agent in agents()
        for api in agent.apis
        for template in (["switch"] if asked.engine else MODELS)
        if not only - {agent.id, api.name, template}
    ]
    results = []
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
    before = kept(RESULTS, *_KEY).get(key, {"done": {}})
    lost = [name for name, done in before["done"].items() if done and not result["done"].get(name)]
    for name in ("thoughts", "earlier_thoughts"):
        if before.get(name) == "kept" != result[name]:
            lost.append(f"{name}, now {result[name]}")
    if lost:
        yield f"{' '.join(key)}: {', '.join(lost)}; {result['faults']}"


if __name__ == "__main__":
    sys.exit(main())

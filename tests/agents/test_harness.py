"""The harness, with an agent of forty lines: what it counts as done is done, and what is not is not."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("httpx")

from .agent import Agent, Api, Call, agents, filled
from .model import Step
from .run import MODELS, Run, heed_interrupts
from .scenario import thoughts_of, work
from .server import Exchange

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.skipif(sys.platform == "win32", reason="the agents are run as on Linux"),
]

SMALL = r"""
import json, os, pathlib, subprocess, sys
import httpx

tools = [{"type": "function", "function": {"name": "sh", "parameters": {"type": "object", "properties": {"c": {"type": "string"}}}}}]
session = pathlib.Path("session.json")
messages = json.loads(session.read_text()) if "-c" in sys.argv else []
messages.append({"role": "user", "content": sys.argv[-1]})
body = {"model": os.environ["NAME"], "tools": tools, **json.loads(os.environ["MORE"])}
while True:
    message = {"role": "assistant", "content": "", "reasoning_content": "", "tool_calls": []}
    url = os.environ["URL"] + "/v1/chat/completions"
    with httpx.stream("POST", url, json={**body, "messages": messages, "stream": True}, timeout=60) as answer:
        if answer.status_code != 200:
            sys.exit(answer.read().decode())
        for line in answer.iter_lines():
            if not line.startswith("data: {"):
                continue
            delta = json.loads(line[6:])["choices"][0]["delta"]
            for key in ("content", "reasoning_content"):
                message[key] += delta.get(key) or ""
            for call in delta.get("tool_calls", ()):
                if "id" in call:
                    message["tool_calls"].append({"id": call["id"], "type": "function", "function": call["function"]})
                else:
                    message["tool_calls"][-1]["function"]["arguments"] += call["function"]["arguments"]
    if os.environ.get("FORGETS"):
        del message["reasoning_content"]
    messages.append(message)
    if not message["tool_calls"]:
        print(message["content"])
        session.write_text(json.dumps(messages[int(os.environ.get("FROM", "0")):]))
        break
    for call in message["tool_calls"]:
        done = subprocess.run(json.loads(call["function"]["arguments"])["c"], shell=True, capture_output=True, text=True)
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": done.stdout})
"""


def small(tmp_path: Path, **more: Any) -> Agent:
    """The agent, installed in a folder as install.sh does it."""
    path = tmp_path / "python" / "small" / "bin" / "small"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!{sys.executable}\n{SMALL}")
    path.chmod(0o755)
    env = {
        "URL": "http://127.0.0.1:11556",
        "NAME": "MODEL",
        "MORE": "{}",
        "PYTHONPATH": ":".join(sys.path),
        **more,
    }
    return Agent(
        id="small", name="Small", package="small", home_page="", command=["small"], headless=["PROMPT"],
        resume=["-c", "PROMPT"], apis=[Api("chat", env=env)], shell=Call("sh", {"c": "COMMAND"}), is_python=True,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _ignored_interrupts() -> Iterator[None]:
    """As in a background job of a shell."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    heed_interrupts()
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("template", MODELS)
def test_an_agent_that_does_all(tmp_path: Path, template: str) -> None:
    agent = small(tmp_path)
    result = Run(agent, agent.apis[0], template, tmp_path).run().result
    assert result["done"] == dict.fromkeys(
        ["command", "file", "two calls", "end", "second turn", "abort"], True
    )
    assert result["thoughts"] == result["earlier_thoughts"] == "kept"
    assert result["faults"] == []


def test_an_agent_that_forgets_the_thoughts(tmp_path: Path) -> None:
    agent = small(tmp_path, FORGETS="1")
    result = Run(agent, agent.apis[0], "switch", tmp_path).run().result
    assert result["thoughts"] == result["earlier_thoughts"] == "not sent"


@pytest.mark.parametrize("first", [1, 8])
def test_an_agent_that_forgets_the_beginning(tmp_path: Path, first: int) -> None:
    agent = small(tmp_path, FROM=str(first))
    done = Run(agent, agent.apis[0], "switch", tmp_path).run().done
    assert [name for name, is_done in done.items() if not is_done] == ["second turn"]


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
def test_a_daemon_of_an_agent_ends(tmp_path: Path) -> None:
    agent = small(tmp_path)
    run = Run(agent, agent.apis[0], "switch", tmp_path)
    command, env = ["sleep", "1000"], {**os.environ, "HOME": str(tmp_path)}
    with subprocess.Popen(command, env=env, start_new_session=True) as daemon, run._begun(tmp_path, [Step()]):
        pass
    assert daemon.returncode == -signal.SIGKILL


def test_an_agent_that_is_refused(tmp_path: Path) -> None:
    agent = small(tmp_path, MORE=json.dumps({"temperature": "hot"}))
    result = Run(agent, agent.apis[0], "switch", tmp_path).run().result
    assert not any(result["done"].values())
    assert all("422" in fault and "temperature" in fault for fault in result["faults"])


@pytest.mark.parametrize(
    ("reasoning", "content", "body", "fate"),
    [
        ("I run it.", "", b"I run it.", "kept"),
        (None, "I run it.", b"I run it.", "as text"),
        ("Another.", "", b"I run it.", "lost"),
        (None, "", b"", "not sent"),
    ],
)
def test_what_became_of_a_thought(reasoning: str | None, content: str, body: bytes, fate: str) -> None:
    turn = {"role": "assistant", "content": content, "reasoning_content": reasoning, "tool_calls": [{}]}
    assert thoughts_of([Step("I run it.")], [[turn]], [Exchange("POST /", body)]) == fate


@pytest.mark.parametrize("agent", agents(), ids=lambda agent: agent.id)
def test_the_files_of_the_agents(agent: Agent, tmp_path: Path) -> None:
    """Each has a pinned version; no name is left to be filled in; the script uses its tools."""
    assert agent.version.replace(".", "").isdigit()
    names = {"http://127.0.0.1:11556": "ADDRESS", "MODEL": "M", "~/": "H", "PROMPT": "P"}
    for api in agent.apis:
        given = [*agent.command, *agent.headless, *agent.resume, api.text, *api.env.values(), *api.arguments]
        given += api.first
        text = json.dumps(filled(given, names))
        assert "ADDRESS" in text
        assert not any(name in text for name in names)
        assert filled(dict(api.env), names).keys() == api.env.keys()
    steps = json.dumps([dataclasses.asdict(step) for step in work(agent, tmp_path)])
    assert not any(name in steps.replace("COMPLETE", "") for name in ("COMMAND", '"PATH', '"TEXT'))

"""JavaScript clients against the demo: what each assembles is the message that the parser gives in one shot."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
import unspool
from unspool import GenerationDefaults, StreamGenerator
from unspool.serve.models.demo_model import _PIECE
from unspool.testing.cases import Case

from .conftest import Script, ScriptedModel, ask_the_weather, running
from .test_clients import CASES, FORMATS, model_of, one_shot

SOURCES = Path(__file__).with_name("clients")
VERCEL = ["ai compatible", "ai openai chat", "ai openai responses", "ai anthropic"]
GOOGLE = "google generateContent"
CLIENTS = ["openai chat", "openai responses", "anthropic messages", GOOGLE, *VERCEL]

pytestmark = pytest.mark.timeout(300)


def _first_line(text: str) -> str:
    return next((line for line in text.splitlines() if line.strip()), "no reason given")


@pytest.fixture(scope="session")
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where run.mjs stands beside its packages: in pytest's cache, installed once for each lock file."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("node and npm are needed")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    if int(version.lstrip("v").split(".")[0] or 0) < 20:
        pytest.skip(f"node is {version}; the clients need 20")
    sources = ["package.json", "package-lock.json", "run.mjs"]
    digest = hashlib.sha256(b"".join((SOURCES / name).read_bytes() for name in sources[:2])).hexdigest()
    cache = getattr(request.config, "cache", None)  # `-p no:cacheprovider` leaves it out
    parent = cache.mkdir("javascript-clients") if cache else tmp_path_factory.mktemp("javascript-clients")
    installed = parent / digest[:16]
    if not installed.exists():
        made = Path(tempfile.mkdtemp(dir=parent))
        for name in sources[:2]:
            shutil.copy(SOURCES / name, made)
        command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        try:
            npm_ci = subprocess.run(
                [*command, "--fetch-retries=0", "--fetch-timeout=20000"],
                cwd=made, capture_output=True, text=True, timeout=120, check=False,
            )  # fmt: skip
            problem = _first_line(npm_ci.stderr) if npm_ci.returncode else None
        except subprocess.TimeoutExpired:
            problem = "no answer in two minutes"
        if problem is not None:
            shutil.rmtree(made, ignore_errors=True)
            pytest.skip(f"npm ci: {problem}")
        try:
            made.rename(installed)
        except OSError:  # another worker was faster
            shutil.rmtree(made, ignore_errors=True)
    # A copy for each worker, beside node_modules: that is where node looks for packages.
    run = installed / f"run-{hashlib.sha256((SOURCES / 'run.mjs').read_bytes()).hexdigest()[:16]}.mjs"
    if not run.exists():
        fresh = Path(tempfile.mkstemp(dir=installed, suffix=".mjs")[1])
        shutil.copy(SOURCES / "run.mjs", fresh)
        fresh.rename(run)
    return run


def run_clients(run: Path, url: str, tasks: list[dict[str, Any]]) -> list[Any]:
    """What the clients found, a line a task."""
    lines = "".join(json.dumps({"tools": [], **task}) + "\n" for task in tasks)
    node = subprocess.run(
        ["node", str(run), url], input=lines, capture_output=True, text=True, timeout=200, check=False
    )
    assert node.returncode == 0, node.stderr[-4000:]
    found = [json.loads(line) for line in node.stdout.splitlines()]
    assert len(found) == len(tasks)
    return found


FINISH = {
    "openai chat": {"stop": "stop", "length": "length", "tool_calls": "tool_calls"},
    "openai responses": {"stop": "completed", "length": "incomplete", "tool_calls": "completed"},
    "anthropic messages": {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"},
    GOOGLE: {"stop": "STOP", "length": "MAX_TOKENS", "tool_calls": "STOP"},
    **{client: {"stop": "stop", "length": "length", "tool_calls": "tool-calls"} for client in VERCEL},
}


def is_object(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def is_shown(arguments: Any, call: unspool.ToolCall, client: str) -> bool:
    """Whether a client's arguments are a call's: as text, or as the object that the text spells."""
    if isinstance(arguments, str):
        return arguments == (call.arguments or "{")  # cut off before them: an opening brace
    if is_object(call.arguments) and arguments == json.loads(call.arguments):
        return True
    # Messages has no text: what was cut off is an object without the rest.
    return not call.is_complete and "anthropic" in client and isinstance(arguments, dict)


def check(task: dict[str, Any], answer: Any, message: unspool.Message) -> None:
    client = task["client"]
    reasoning = "" if client == "ai openai chat" else message.reasoning  # it shows none, whatever is sent
    assert answer["content"] == message.content, task
    assert answer["reasoning"] == reasoning, task
    calls = message.tool_calls
    if "anthropic" in client and not task["streamed"] and message.finish_reason != "length":
        calls = tuple(call for call in calls if call.is_complete)  # Messages leaves the others out
    if client == GOOGLE:
        calls = tuple(call for call in calls if call.is_complete)  # its clients run all that they get
    assert [name for name, _ in answer["calls"]] == [call.name for call in calls], task
    for (_, arguments), call in zip(answer["calls"], calls, strict=True):
        assert is_shown(arguments, call, client), (task, arguments, call)
    finish = FINISH[client][str(message.finish_reason)]
    if client == "ai openai responses" and message.tool_calls and message.finish_reason == "stop":
        finish = "tool-calls"  # its own guess, where a later call broke off
    if client == GOOGLE and len(calls) < len(message.tool_calls) and message.finish_reason == "stop":
        finish = "MALFORMED_FUNCTION_CALL"
    assert answer["finish"] == finish, task


def check_ran(task: dict[str, Any], answer: Any, message: unspool.Message) -> None:
    """Vercel's clients run calls that are whole and no others; all of them, unless the answer was cut off."""
    whole = [(call.name, json.loads(call.arguments)) for call in message.tool_calls if call.is_complete]
    ran = [(name, input) for name, input in answer["ran"]]
    if message.finish_reason == "length":
        assert all(call in whole for call in ran), task
    else:
        assert ran == whole, task


def tasks_for(case: Case, **more: Any) -> list[dict[str, Any]]:
    tools = sorted({name for name, _, _ in case.calls})
    return [
        {"streamed": streamed, "model": model_of(case), "tools": tools, **more} for streamed in (True, False)
    ]


@pytest.mark.rest(but_one_in=7)
@pytest.mark.parametrize("client", CLIENTS)
def test_every_case(folder: Path, demo_url: str, client: str) -> None:
    """Chat, tools, parallel tools, no arguments, reasoning, an end by length; streamed and whole."""
    cases = [(case, task) for case in CASES for task in tasks_for(case, client=client)]
    found = run_clients(folder, demo_url, [task for _, task in cases])
    for (case, task), answers in zip(cases, found, strict=True):
        assert isinstance(answers, list), (task, answers)
        message = one_shot(case)
        check(task, answers[0], message)
        if client in VERCEL:
            check_ran(task, answers[0], message)


@pytest.mark.rest(but_one_in=7)
@pytest.mark.parametrize("client", CLIENTS)
def test_cut_by_length(folder: Path, demo_url: str, client: str) -> None:
    """Each prefix of an answer is what its parser says of that prefix."""
    cases = [
        next(case for case in CASES if case.format == format and len(_PIECE.findall(case.input)) > 12)
        for format in FORMATS
    ]
    cuts = [
        (case, task)
        for case in cases
        for count in (1, 3, 7, 11)
        for task in tasks_for(case, client=client, max_tokens=count)
    ]
    found = run_clients(folder, demo_url, [task for _, task in cuts])
    for (case, task), answers in zip(cuts, found, strict=True):
        assert isinstance(answers, list), (task, answers)
        cut = "".join(_PIECE.findall(case.input)[: task["max_tokens"]])
        tools = None if case.tools is None else list(case.tools)
        message = unspool.parse(cut, case.format, tools, finish_reason="length", **case.options)
        check(task, answers[0], message)


def test_two_answers(folder: Path, demo_url: str) -> None:
    """n = 2 gives what two requests with two seeds give."""
    ask = {"client": "openai chat"}
    both = [
        {**ask, "model": format, "streamed": streamed, "n": 2, "seed": 1, "temperature": 1}
        for format in FORMATS
        for streamed in (True, False)
    ]
    alone = [
        {**ask, "model": format, "streamed": True, "seed": seed} for format in FORMATS for seed in (1, 2)
    ]
    found = run_clients(folder, demo_url, both + alone)
    pairs, singles = found[: len(both)], found[len(both) :]
    for place, format in enumerate(FORMATS):
        (first,), (second,) = singles[2 * place : 2 * place + 2]
        assert first["content"]
        for pair in pairs[2 * place : 2 * place + 2]:
            assert pair == [first, second], format


def _fail_early(_: Script) -> None:
    raise RuntimeError("no weights")


def _fail_in_text(script: Script) -> None:
    script.put("Half an ")
    script.put("answer")
    raise RuntimeError("no weights")


def _fail_in_call(script: Script) -> None:
    script.put('<tool_call>{"name": "f", "arguments": {"city": "Pa')
    raise RuntimeError("no weights")


def test_failures_are_reported(folder: Path) -> None:
    """Before the first byte, in a text and in a call: each client raises an error with the server's words."""
    bodies = {"early": _fail_early, "text": _fail_in_text, "call": _fail_in_call}
    models = {name: ScriptedModel(body) for name, body in bodies.items()}
    tasks = [
        {"client": client, "streamed": streamed, "model": model, "tools": ["f"]}
        for client in CLIENTS
        for streamed in (True, False)
        for model in [*models, "gone"]
    ]
    with running(models) as server:
        found = run_clients(folder, f"http://127.0.0.1:{server.port}", tasks)
    for task, told in zip(tasks, found, strict=True):
        assert isinstance(told, dict), (task, told)
        words = "no model 'gone'" if task["model"] == "gone" else "the model failed: RuntimeError: no weights"
        assert words in told["error"], (task, told)
        if task["model"] == "gone":
            assert told["status"] == 404, task
        elif task["model"] == "early" or not task["streamed"]:
            assert told["status"] == 500, task


@pytest.mark.parametrize("client", ["google loop", "google chat"])
@pytest.mark.parametrize("streamed", [True, False])
def test_googles_own_loop_of_functions(folder: Path, client: str, streamed: bool) -> None:
    """Each function runs once, its result comes to its call, and so does the thought."""
    model = ScriptedModel(ask_the_weather, "qwen3")
    with running({"m": model}) as server:
        (found,) = run_clients(
            folder,
            f"http://127.0.0.1:{server.port}",
            [{"client": client, "streamed": streamed, "model": "m"}],
        )
    assert found == {
        "text": "Warm.", "ran": ["Paris", "Oslo"], "names": ["models/m"], "totalTokens": 1,
        "forced": ["get_weather", "get_weather"], "isKept": True,
    }  # fmt: skip
    _, assistant, first, second = model.asked[1]["prompt"]
    assert assistant["reasoning_content"] == "Two cities."
    assert [one["content"] for one in (first, second)] == ["Paris", "Oslo"]
    assert [one["tool_call_id"] for one in (first, second)] == [
        call["id"] for call in assistant["tool_calls"]
    ]


@pytest.fixture(scope="module")
def structured(folder: Path, llama: Any, tokenizer: Any) -> Any:
    """What each client makes of a request for an object, by (client, streamed)."""
    config = GenerationDefaults(max_new_tokens=700)
    model = StreamGenerator(llama, tokenizer, format="hermes", backend="native", config=config)
    clients = [*CLIENTS, "ai compatible structured"]
    asked = [(client, streamed) for client in clients for streamed in (False, True)]
    tasks = [{"client": c, "streamed": s, "model": "m", "structured": True} for c, s in asked]
    with running({"m": model}) as server:
        found = run_clients(folder, f"http://127.0.0.1:{server.port}", tasks)
    return dict(zip(asked, found, strict=True))


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("client", [*CLIENTS, "ai compatible structured"])
def test_an_object_of_a_schema(structured: Any, client: str, streamed: bool) -> None:
    """Of a random model, whose every token is kept to the schema that the client sends."""
    found = structured[client, streamed]
    assert "error" not in found, found
    if client == "ai compatible":  # it sends no schema
        assert isinstance(found["object"], dict)
    else:
        assert found["object"]["city"] in ("Paris", "Oslo")
        assert 1 <= found["object"]["days"] <= 9

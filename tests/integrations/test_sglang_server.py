"""SGLang's plug-in loader, command line and chat endpoint with our parsers; an engine that needs no weights."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import unspool

from ..scripts import load_script

host = pytest.importorskip(
    "unspool.integrations.sglang", reason="SGLang is not installed", exc_type=ImportError
)
pytest.importorskip(
    "sglang.srt.entrypoints.openai.serving_chat",
    reason="SGLang's server is not importable here",
    exc_type=ImportError,
)
ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "sglang" / "serve_scripted.py"
pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # SGLang's own
    pytest.mark.skipif(not EXAMPLE.is_file(), reason="runs in a checkout"),
]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            },
        },
    }
]


@pytest.fixture(scope="module")
def scripted() -> Any:
    return load_script(EXAMPLE)


def ask(chat: Any, **request: Any) -> Any:
    """One request to SGLang's endpoint: the chunks of a stream, or the answer."""
    from sglang.srt.entrypoints.openai.protocol import ChatCompletionRequest
    from starlette.requests import Request

    async def run() -> Any:
        raw = Request({"type": "http", "headers": [], "method": "POST", "path": "/"})
        messages = [{"role": "user", "content": "Hi"}]
        answer = await chat.handle_request(
            ChatCompletionRequest(model="scripted", messages=messages, **request), raw
        )
        if not request.get("stream"):
            return answer.model_dump()
        lines = "".join([chunk async for chunk in answer.body_iterator]).split("\n\n")
        return [json.loads(line.removeprefix("data: ")) for line in lines if line and "[DONE]" not in line]

    return asyncio.run(run())


def assemble(chunks: list[dict[str, Any]]) -> tuple[str, str, list[list[str]], str | None]:
    content, reasoning, finish_reason = "", "", None
    calls: list[list[str]] = []
    for chunk in chunks:
        for choice in chunk["choices"]:
            delta = choice["delta"]
            content += delta.get("content") or ""
            reasoning += delta.get("reasoning_content") or ""
            for entry in delta.get("tool_calls") or ():
                if entry["function"]["name"]:
                    calls.append([entry["id"], entry["function"]["name"], ""])
                calls[entry["index"]][2] += entry["function"]["arguments"]
            finish_reason = choice["finish_reason"] or finish_reason
    return content, reasoning, calls, finish_reason


def server_args(scripted: Any, format: str) -> Any:
    host.register()
    name = host.PREFIX + format
    return scripted.parse_arguments(["--tool-call-parser", name, "--reasoning-parser", name])


@pytest.mark.parametrize("step", [1, 3, 1000])
def test_the_chat_endpoint_streams_what_parse_gives(scripted: Any, step: int) -> None:
    chat = scripted.make_chat(server_args(scripted, "qwen3"), forces_reasoning=True, step=step)
    content, reasoning, calls, finish_reason = assemble(ask(chat, stream=True, tools=TOOLS))
    message = unspool.parse(scripted.ANSWER, "qwen3", TOOLS, start_in="reasoning")
    assert (content, reasoning, finish_reason) == (message.content, message.reasoning, message.finish_reason)
    assert [call[1:] for call in calls] == [[call.name, call.arguments] for call in message.tool_calls]


def test_the_chat_endpoint_answers_whole_what_parse_gives(scripted: Any) -> None:
    chat = scripted.make_chat(server_args(scripted, "qwen3"), forces_reasoning=True)
    choice = ask(chat, tools=TOOLS)["choices"][0]
    expected = unspool.parse(scripted.ANSWER, "qwen3", TOOLS, start_in="reasoning")
    message = choice["message"]
    assert (message["content"], message["reasoning_content"]) == (expected.content, expected.reasoning)
    assert [call["function"]["arguments"] for call in message["tool_calls"]] == [
        call.arguments for call in expected.tool_calls
    ]
    assert choice["finish_reason"] == "tool_calls"


def test_a_stream_that_is_cut_off_says_so(scripted: Any) -> None:
    text = scripted.ANSWER[: scripted.ANSWER.index("rich", 60) + 2]
    chat = scripted.make_chat(
        server_args(scripted, "qwen3"), text, forces_reasoning=True, finish_reason="length"
    )
    _, _, calls, finish_reason = assemble(ask(chat, stream=True, tools=TOOLS))
    assert [call[1:] for call in calls] == [["get_weather", '{"city": "Züri']]
    assert finish_reason == "length"


def test_what_only_looks_like_a_call_reaches_the_client(scripted: Any) -> None:
    chat = scripted.make_chat(server_args(scripted, "qwen3"), "<think>a</think>Use <tool_ca")
    content, reasoning, calls, finish_reason = assemble(ask(chat, stream=True, tools=TOOLS))
    assert (content, reasoning, calls, finish_reason) == ("Use <tool_ca", "a", [], "stop")


def test_a_request_without_tools_keeps_the_tokens_that_the_reasoning_stands_between(scripted: Any) -> None:
    chat = scripted.make_chat(server_args(scripted, "mistral"), "[THINK]a[/THINK]b")
    from sglang.srt.entrypoints.openai.protocol import ChatCompletionRequest

    request = ChatCompletionRequest(model="x", messages=[{"role": "user", "content": "Hi"}])
    chat._patch_reasoning_skip_special_tokens(request)
    assert request.skip_special_tokens is False
    assert assemble(ask(chat, stream=True))[:2] == ("b", "a")


def test_kimis_calls_are_numbered_as_its_template_wants(scripted: Any) -> None:
    text = (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{}"
        "<|tool_call_end|><|tool_calls_section_end|>"
    )
    chat = scripted.make_chat(server_args(scripted, "kimi_k2"), text)
    calls = assemble(ask(chat, stream=True, tools=TOOLS, chat_template_kwargs={"thinking": False}))[2]
    assert calls == [["functions.get_weather:0", "get_weather", "{}"]]


def plugin(folder: Path) -> Path:
    """The entry point, as the installed package declares it."""
    info = folder / "unspool_plugin-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: unspool-plugin\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[sglang.srt.plugins]\nunspool = unspool.integrations.sglang:register\n"
    )
    return folder


def environment(*folders: Path) -> dict[str, str]:
    paths = [*map(str, folders), *(path for path in sys.path if path)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONWARNINGS": "ignore"}


def test_sglang_finds_the_plug_in(tmp_path: Path) -> None:
    code = (
        "from sglang.srt.plugins import load_plugins; load_plugins()\n"
        "from sglang.srt.server_args import prepare_server_args\n"
        "print(prepare_server_args(['--model-path', 'dummy', '--tool-call-parser', 'unspool_glm45',"
        " '--reasoning-parser', 'unspool_deepseek_r1']).tool_call_parser)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(plugin(tmp_path)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout.strip().endswith("unspool_glm45"), run.stderr


@pytest.mark.skipif(not (shutil.which("bash") and shutil.which("curl")), reason="bash or curl is missing")
@pytest.mark.timeout(300)
def test_the_pages_first_block_streams(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "sglang.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(\w+)\n(.*?)```", page, re.DOTALL)
    language, block = blocks[0]
    assert language == "bash"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    tools = tmp_path / "bin"
    tools.mkdir()
    # What is installed is installed, and the server is SGLang's over an engine that needs no weights.
    (tools / "pip").write_text("#!/bin/sh\n")
    (tools / "sglang").write_text(
        f'#!/bin/sh\n[ "$1" = serve ] || exit 1\nshift\nexec "{sys.executable}" "{EXAMPLE}" "$@"\n'
    )
    for script in tools.iterdir():
        script.chmod(0o755)
    settings = environment(plugin(tmp_path))
    settings["PATH"] = f"{tools}{os.pathsep}{settings['PATH']}"
    script = f"trap 'kill $(jobs -p)' EXIT\n{block.replace('30000', str(port))}"
    run = subprocess.run(["bash", "-c", script], env=settings, capture_output=True, check=False)
    chunks = [
        json.loads(line.removeprefix("data: "))
        for line in run.stdout.decode().split("\n\n")
        if line.startswith("data: {")
    ]
    assert chunks, run.stderr.decode()
    content, _, calls, finish_reason = assemble(chunks)
    assert "I look it up." in content
    assert [call[1:] for call in calls] == [["get_weather", '{"city": "Zürich", "days": 3}']]
    assert finish_reason == "tool_calls"

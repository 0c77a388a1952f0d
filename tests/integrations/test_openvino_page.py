"""docs/openvino.md: its blocks run, and its table says what GenAI's parsers and ours give."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openvino_genai", reason="openvino-genai is missing: pip install '.[test-openvino]'")
pytest.importorskip("gguf", reason="gguf is missing: pip install '.[test-openvino]'")

import openvino_genai as genai
import unspool
from unspool.errors import UnspoolError

from .openvino_models import write_model

PAGE = Path(__file__).parents[2] / "docs" / "openvino.md"
pytestmark = [
    pytest.mark.skipif(not PAGE.is_file(), reason="runs in a checkout"),
    pytest.mark.timeout(300),
]
ANSWER = 'Let me look.\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)


def test_the_blocks_run(tmp_path: Path) -> None:
    """The first as it stands, each other after it, with a model of the name that they give."""
    write_model(tmp_path / "model.gguf", ANSWER)
    first, *others = blocks()
    setting = (
        "from openvino_genai import ChatHistory\n"
        "llm, history, chats, text = pipe.pipe, ChatHistory(messages), [messages, messages], 'Weather?'\n"
        "config = llm.get_generation_config()\nconfig.max_new_tokens = 200\n"
    )
    for block in ("", *others):
        code = first if not block else first + setting + block.replace('"<tool_call>" ...', '"a"')
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
            env={**os.environ, "PYTHONPATH": str(Path(unspool.__path__[0]).parent)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "{'content': 'Le'}" in done.stdout
        assert """arguments='{"city": "Paris"}', status='complete'""" in done.stdout
        if "DeltaStreamer" in block or "ContinuousBatching(" in block:
            assert done.stdout.count("'function': {'name': 'get_weather'") == (2 if "Delta" in block else 3)


def whole(parser: Any) -> Callable[[list[str]], dict[str, Any]]:
    """A parser of whole answers, as `GenerationConfig.parsers` runs it."""

    def parse(pieces: list[str]) -> dict[str, Any]:
        message: dict[str, Any] = {"content": "".join(pieces)}
        parser.parse(message)
        return message

    return parse


def incremental(parser: Any) -> Callable[[list[str]], dict[str, Any]]:
    """An incremental parser, as `TextParserStreamer` runs it: strings are concatenated."""

    def parse(pieces: list[str]) -> dict[str, Any]:
        message: dict[str, str] = {}
        for piece in pieces:
            delta: dict[str, str] = {}
            delta["content"] = parser.parse(delta, piece, [])
            for key, value in delta.items():
                message[key] = message.get(key, "") + value
        return message

    return parse


def ours(pieces: list[str], format: str) -> dict[str, Any]:
    """Streamed in these pieces, and in one go: the same."""
    parser = unspool.Parser(format, id_seed=1)
    for piece in pieces:
        parser.parse_chunk(piece)
    message = parser.finish()
    once = unspool.parse("".join(pieces), format, id_seed=1)
    assert (once.content, once.reasoning, once.tool_calls) == (
        message.content,
        message.reasoning,
        message.tool_calls,
    )
    found: dict[str, Any] = {"content": message.content}
    if message.reasoning:
        found["reasoning_content"] = message.reasoning
    if message.tool_calls:
        found["tool_calls"] = list(message.tool_calls)
    return found


def shown(found: dict[str, Any]) -> str:
    parts = []
    for name, value in sorted(found.items(), reverse=True):
        if name == "tool_calls":
            parts += [shown_call(call) for call in value]
        elif value or name == "content":
            parts.append(f"{name.removesuffix('_content')} `{value}`" if value else f"no {name}")
    return ", ".join(parts)


def shown_call(call: Any) -> str:
    if isinstance(call, dict):
        return f"call `{json.dumps(call)}`"
    return f"call `{call.name}({call.arguments})`" + ("" if call.is_complete else f", {call.status}")


def row(pieces: list[str], name: str, theirs: str, format: str) -> str:
    written = " + ".join(f"`{piece}`" for piece in pieces)
    return f"| {written} | {name} | {theirs} | `{format}`: {shown(ours(pieces, format))} |"


R1, PHI4 = genai.DeepSeekR1ReasoningIncrementalParser, genai.Phi4ReasoningIncrementalParser
OPEN = genai.ReasoningIncrementalParser
JSON, PYTHON = genai.Llama3JsonToolParser, genai.Llama3PythonicToolParser
CALLS = ['{"name": "f", "parameters": {"x": 1}}; {"name": "g", "parameters": {"x": 2}}']
ROWS: list[tuple[list[str], str, Callable[[], Any], str]] = [
    (["<th", "ink>a</th", "ink>b"], "`ReasoningIncrementalParser`", lambda: incremental(OPEN(True)), "qwen3"),
    (["hello"], "`ReasoningIncrementalParser`", lambda: incremental(OPEN(True)), "qwen3"),
    (["hello"], "`Phi4ReasoningIncrementalParser`", lambda: incremental(PHI4()), "qwen3"),
    (["<think>a</think>b"], "`DeepSeekR1ReasoningIncrementalParser`", lambda: incremental(R1()), "deepseek_r1"),
    (["<think>a</th"], "`DeepSeekR1ReasoningIncrementalParser`", lambda: incremental(R1()), "deepseek_r1"),
    (['{"name": "f", "parameters": {"x": 1}}'], "`Llama3JsonToolParser`", lambda: whole(JSON()), "llama3_json"),
    (CALLS, "`Llama3JsonToolParser`", lambda: whole(JSON()), "llama3_json"),
    (['{"name": "f", "parameters": {}} Use {x}'], "`Llama3JsonToolParser`", lambda: whole(JSON()), "llama3_json"),
    (['{"answer": 42}'], "`Llama3JsonToolParser`", lambda: whole(JSON()), "llama3_json"),
    (['{"name": "f", "parameters": {"x": 1'], "`Llama3JsonToolParser`", lambda: whole(JSON()), "llama3_json"),
    (["[f(a=1)]"], "`Llama3PythonicToolParser`", lambda: whole(PYTHON()), "pythonic"),
    (["[f(a='x')]"], "`Llama3PythonicToolParser`", lambda: whole(PYTHON()), "pythonic"),
    (['[f(a="x"), g(b="y")]'], "`Llama3PythonicToolParser`", lambda: whole(PYTHON()), "pythonic"),
    (["See [1] for it."], "`Llama3PythonicToolParser`", lambda: whole(PYTHON()), "pythonic"),
    (['[f(a="x'], "`Llama3PythonicToolParser`", lambda: whole(PYTHON()), "pythonic"),
]  # fmt: skip


def rows() -> list[str]:
    lines = []
    for pieces, name, make, format in ROWS:
        try:
            theirs = shown(make()(pieces))
        except UnspoolError:
            raise
        except RuntimeError:
            theirs = "`RuntimeError`"
        lines.append(row(pieces, name, theirs, format))
    return lines


def test_the_table_is_what_both_give() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [line for line in rows() if line not in page] == []


@pytest.mark.parametrize("body", ["raise ValueError", "return None"])
def test_what_a_streamer_must_not_do(tmp_path: Path, body: str) -> None:
    """Why nothing escapes a `DeltaStreamer`: GenAI ends the process."""
    path, _ = write_model(tmp_path / "model.gguf", ANSWER)
    code = (
        "import sys, openvino_genai as g\n"
        f"class Bad(g.StreamerBase):\n    def write(self, tokens): {body}\n    def end(self): pass\n"
        "g.LLMPipeline(sys.argv[1], 'CPU').generate('x', streamer=Bad(), max_new_tokens=5)"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, timeout=120, check=False)
    assert done.returncode == -6, done.stderr

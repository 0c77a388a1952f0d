"""`--strict-markers`: a tag that the model spells in plain tokens is content; a token opens a call as ever."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest
import torch
from unspool import ArgumentError, StreamGenerator
from unspool.__main__ import main
from unspool.serve.models.load_checkpoint import load_checkpoint

from .conftest import USER

pytestmark = pytest.mark.anyio

CALL = "<function=look_up>\n<parameter=word>\na\n</parameter>\n</function>"
TOOL = {
    "type": "function",
    "function": {"name": "look_up", "parameters": {"properties": {"word": {"type": "string"}}}},
}


class Writer:
    """A model that writes these ids."""

    def __init__(self, ids: list[int]) -> None:
        self._ids = ids

    def generate(self, input_ids: Any, streamer: Any, **_: Any) -> None:
        streamer.put(input_ids)
        for id in self._ids:
            streamer.put(torch.tensor([id]))


def writer(tokenizer: Any, text: str) -> StreamGenerator:
    return StreamGenerator(Writer(tokenizer(text)["input_ids"]), tokenizer, format="qwen3_coder")


def content_of(body: str) -> str:
    """The content of a body, or of all its events: how much text an event has depends on time."""
    return "".join(re.findall(r'"(?:content|text)": ?"((?:[^"\\]|\\.)*)"', body))


BODIES = {
    "/v1/chat/completions": {"model": "m", "messages": USER, "tools": [TOOL]},
    "/v1/messages": {"model": "m", "messages": USER, "max_tokens": 500,
                     "tools": [{"name": "look_up", "input_schema": TOOL["function"]["parameters"]}]},  # type: ignore[index]
}  # fmt: skip


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_spelled_tag_is_content_and_a_token_opens_a_call(
    make_client: Any, tokenizer: Any, path: str, stream: bool
) -> None:
    begins = '"name":"look_up"'
    for text, is_call in ((f"Hi {CALL}", False), (f"Hi <tool_call>\n{CALL}\n</tool_call>", True)):
        assert ("<tool_call>" in text) == is_call
        models = {"m": writer(tokenizer, text)}
        for strict in (False, True):
            client = make_client(models, strict_markers=strict)
            answer = await client.post(path, json={**BODIES[path], "stream": stream})
            assert answer.status_code == 200, answer.text
            assert (begins in answer.text.replace(": ", ":")) == (is_call or not strict), answer.text
            assert ("=look_up" in content_of(answer.text)) == (strict and not is_call)


async def test_completions_have_the_text_as_it_is(make_client: Any, tokenizer: Any) -> None:
    client = make_client({"m": writer(tokenizer, f"Hi {CALL}")}, strict_markers=True)
    answer = await client.post("/v1/completions", json={"model": "m", "prompt": "x"})
    assert answer.json()["choices"][0]["text"] == f"Hi {CALL}"


async def test_a_chat_without_tools_is_served(make_client: Any, tokenizer: Any) -> None:
    client = make_client({"m": writer(tokenizer, "Hi")}, strict_markers=True)
    answer = await client.post("/v1/chat/completions", json={"model": "m", "messages": USER})
    assert answer.json()["choices"][0]["message"]["content"] == "Hi"


async def test_a_demo_cannot_be_strict(
    make_client: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    client = make_client(strict_markers=True)
    answer = await client.post("/v1/chat/completions", json={"model": "hermes", "messages": USER})
    assert answer.status_code == 400
    assert "strict_markers" in answer.json()["error"]["message"]
    monkeypatch.setattr(sys, "argv", ["unspool", "serve", "--demo", "--strict-markers"])
    with pytest.raises(SystemExit):
        main()
    assert "leave --strict-markers out" in capsys.readouterr().err


def test_a_model_whose_markers_are_no_tokens_is_refused_before_it_loads(
    tmp_path: Any, tokenizer: Any
) -> None:
    """There are no weights in the folder, so that loading them would be another error."""
    tokenizer.save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(ArgumentError, match="strict_markers"):
        load_checkpoint(str(tmp_path), format="mistral", strict_markers=True)
    with pytest.raises(OSError, match="model"):
        load_checkpoint(str(tmp_path), format="hermes", strict_markers=True)

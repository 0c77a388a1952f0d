"""The code in docs/generation.md runs, and that of other pages that runs a model."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import unspool

from ..outputs import TOOLS
from .helpers import BACKENDS

pytest.importorskip("llguidance", reason="the page makes grammars: needs unspool[constrain]")

TEMPLATE = "{% for m in messages %}{{ m.content }}{% endfor %}<tool_call></tool_call>"
PAGE = Path(__file__).parents[2] / "docs" / "generation.md"


@pytest.mark.skipif(not PAGE.is_file(), reason="runs in a checkout")
def test_the_page(llama: Any, byte_tokenizer: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(byte_tokenizer, "chat_template", TEMPLATE)
    byte_tokenizer.save_pretrained(tmp_path)
    names: dict[str, Any] = {
        "folder": tmp_path,
        "model": llama,
        "tokenizer": byte_tokenizer,
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": TOOLS,
    }
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(blocks) >= 2
    for block in blocks:
        if "batched" in BACKENDS or 'backend="batched"' not in block:
            exec(block, names)
    assert names["result"].finish_reason in ("stop", "length")


@pytest.fixture
def from_pretrained(llama: Any, byte_tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pages' model is a small one."""
    transformers = pytest.importorskip("transformers")
    monkeypatch.setattr(byte_tokenizer, "chat_template", "{{ messages[-1].content }}<tool_call></tool_call>")
    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", lambda _: llama)
    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", lambda _: byte_tokenizer)


def blocks_of(page: str) -> list[str]:
    """Those that this file runs."""
    text = PAGE.with_name(page).read_text(encoding="utf-8")
    return re.findall(r"<!-- run by tests/generation/test_docs.py.*? -->\n\n```python\n(.*?)```", text, re.S)


@pytest.mark.skipif(not PAGE.is_file(), reason="runs in a checkout")
@pytest.mark.usefixtures("from_pretrained")
def test_the_block_that_generates(capsys: pytest.CaptureFixture[str]) -> None:
    """docs/start.md, as it stands, but for where the model comes from."""
    (block,) = blocks_of("start.md")
    exec(block, {"unspool": unspool, "tools": TOOLS})
    assert "{'content': " in capsys.readouterr().out


@pytest.mark.skipif(not PAGE.is_file(), reason="runs in a checkout")
@pytest.mark.usefixtures("from_pretrained")
def test_the_model_of_a_fastapi_application() -> None:
    """docs/fastapi.md: what the application asks of the demo, it asks of the model."""
    (block,) = blocks_of("fastapi.md")
    names: dict[str, Any] = {"unspool": unspool}
    exec(block, names)
    sampling = unspool.SamplingParams(max_tokens=5)
    stream = names["model"].stream([{"role": "user", "content": "Hi"}], tools=None, sampling=sampling)
    assert [delta.kind for delta in stream]
    assert stream.result.usage.completion_tokens == 5


@pytest.mark.skipif(not PAGE.is_file(), reason="runs in a checkout")
@pytest.mark.usefixtures("from_pretrained")
def test_the_model_of_an_agents_loop() -> None:
    """docs/agent-loop.md: both ways to ask a model return its message."""
    names: dict[str, Any] = {"unspool": unspool}
    blocks = blocks_of("agent-loop.md")
    assert len(blocks) == 2
    for block in blocks:
        exec(block, names)
        message = names["ask"]([{"role": "user", "content": "Hi"}], TOOLS)
        assert isinstance(message, unspool.Message)


@pytest.mark.skipif(not PAGE.is_file(), reason="runs in a checkout")
def test_the_page_on_opentelemetry() -> None:
    """docs/opentelemetry.md, in a process of its own: a provider is set once."""
    pytest.importorskip("opentelemetry.sdk")
    page = PAGE.with_name("opentelemetry.md")
    (block,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    model = """
from tests.tiny_models import TEMPLATE, make_byte_tokenizer, make_llama

tokenizer = make_byte_tokenizer(chat_template=TEMPLATE)
model = make_llama(tokenizer)
messages = [{"role": "user", "content": "Hi"}]
"""
    done = subprocess.run(
        [sys.executable, "-c", model + block], cwd=PAGE.parents[1], check=True, capture_output=True, text=True
    )
    assert '"name": "chat' in done.stdout
    assert '"gen_ai.usage.output_tokens": 20' in done.stdout

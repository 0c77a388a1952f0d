"""The code in docs/generation.md runs, and that of docs/start.md that runs a model."""

from __future__ import annotations

import re
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


@pytest.mark.skipif(not PAGE.is_file(), reason="runs in a checkout")
def test_the_block_that_generates(
    llama: Any, byte_tokenizer: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """docs/start.md, as it stands, but for where the model comes from."""
    transformers = pytest.importorskip("transformers")
    monkeypatch.setattr(byte_tokenizer, "chat_template", "{{ messages[0].content }}<tool_call></tool_call>")
    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", lambda _: llama)
    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", lambda _: byte_tokenizer)
    page = PAGE.with_name("start.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(from transformers .*?)```", page, re.S)
    exec(block, {"unspool": unspool, "tools": TOOLS})
    assert "{'content': " in capsys.readouterr().out

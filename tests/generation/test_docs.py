"""The code in docs/generation.md runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from unspool.testing.outputs import TOOLS

pytest.importorskip("llguidance", reason="the page makes grammars: needs unspool[constrain]")

PAGE = Path(__file__).parents[2] / "docs" / "generation.md"


@pytest.mark.skipif(not PAGE.is_file(), reason="runs in a checkout")
def test_the_page(llama: Any, byte_tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_tokenizer, "chat_template", "{{ messages[0].content }}<tool_call></tool_call>")
    names: dict[str, Any] = {
        "model": llama,
        "tokenizer": byte_tokenizer,
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": TOOLS,
    }
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(blocks) >= 2
    for block in blocks:
        exec(block, names)
    assert names["result"].finish_reason in ("stop", "length")

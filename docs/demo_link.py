"""The playground's address with the text that the home page's block parses."""

from __future__ import annotations

import ast
import base64
import json
import re
from pathlib import Path

HOME = Path(__file__).with_name("index.md")


def demo_link() -> str:
    """It opens in the call, and plays from its first step unless the system asks for reduced motion."""
    chunks = re.search(r"for chunk in (\[.*?\]):", HOME.read_text(encoding="utf-8"), re.S)
    assert chunks
    state = {"f": "qwen3", "t": "".join(ast.literal_eval(chunks[1])), "c": "tokens", "k": 21, "play": True}
    link = base64.urlsafe_b64encode(json.dumps(state).encode()).decode().rstrip("=")
    return f"?embedded#{link}"

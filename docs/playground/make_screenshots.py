"""Make the pictures of docs/playground.md and docs/index.md: `python docs/playground/make_screenshots.py`; needs chromium."""

from __future__ import annotations

import base64
import json
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import uvicorn
from unspool.serve import create_app
from unspool.serve.models.demo_model import DemoModels

FOLDER = Path(__file__).parent
sys.path[:0] = [str(FOLDER.parents[1] / "tests" / "serve"), str(FOLDER.parent)]

from demo_link import demo_link  # noqa: E402
from webdriver import Browser, free_port  # noqa: E402

TOOLS = """[{"name": "get_weather", "parameters": {"properties": {
  "city": {"type": "string"}, "days": {"type": "integer"}}}}]"""
QWEN3 = """<think>
Weather, so the tool.
</think>

I look it up for you.
<tool_call>
{"name": "get_weather", "arguments": {"city": "Zürich", "days": 3}}
</tool_call>"""
BOOKING = """I book it.
<tool_call>
{"name": "book", "arguments": {"places": [{"city": "Zürich", "days": 3}], "breakfast": true, "note": "a room by the lake"}}
</tool_call>"""
CODER = """I look it up.
<tool_call>
<function=get_weather>
<parameter=city>
A <b>bold</b> city with </parameter> in its name
</parameter>
<parameter=days>
12
</parameter>
</function>
</tool_call>"""
BROKEN = """Two calls, the second is broken.
<tool_call>
{"name": "get_weather", "arguments": {"city": "Oslo"}}
</tool_call>
<tool_call>
{"name": "get_weather", "arguments": {"city": Bergen}}
</tool_call>"""

# name, width, height, colours, state
PICTURES: list[tuple[str, int, int, str, dict[str, Any]]] = [
    ("light", 1100, 800, "light", {"f": "qwen3", "t": QWEN3, "c": "tokens", "k": 26}),
    ("dark", 1100, 800, "dark", {"f": "qwen3_coder", "t": CODER, "tools": TOOLS, "c": "tokens", "k": 44}),
    ("arguments", 1100, 900, "light", {"f": "qwen3", "t": BOOKING, "c": "tokens", "k": 52}),
    ("narrow", 390, 844, "light", {"f": "hermes", "t": BROKEN, "c": "tokens", "k": 18}),
    ("error", 1100, 720, "light", {"f": "qwen3", "t": QWEN3, "tools": '[{"name": get_weather}]', "k": 26}),
]


CHATS = [("chat", 1100, 720, "light"), ("chat-narrow", 390, 844, "dark")]


def picture_chat(browser: Browser, name: str) -> None:
    """A question to a demo model, and its answer."""
    browser.wait("return document.getElementById('place').textContent.includes('/')")
    browser.click("#tab-chat")
    browser.wait("return document.getElementById('model').options.length > 0")
    browser.run(
        "document.getElementById('model').value = 'qwen3';"
        "document.getElementById('chat-tools').value = arguments[0];"
        "document.getElementById('chat-fields').value = '{\"verbosity\": \"low\"}';"
        "document.getElementById('say').value = 'What is the weather in Oslo?'",
        TOOLS,
    )
    browser.click("#send")
    browser.wait("return document.querySelectorAll('#turns li').length === 2")
    time.sleep(0.5)
    browser.screenshot(FOLDER / f"{name}.png")


def main() -> None:
    """Write each picture beside this file."""
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(create_app(DemoModels()), port=port, log_level="error"))
    threading.Thread(target=server.run, daemon=True).start()
    with tempfile.TemporaryDirectory() as profile:
        browser = Browser(Path(profile))
        try:
            for name, width, height, colours, state in PICTURES:
                link = base64.urlsafe_b64encode(json.dumps(state).encode()).decode().rstrip("=")
                browser.emulate(width, height, colours)
                browser.open(f"http://127.0.0.1:{port}/#{link}")
                browser.wait("return document.getElementById('place').textContent.includes('/')")
                time.sleep(0.3)  # fonts and scrolling
                browser.screenshot(FOLDER / f"{name}.png")
            for colours in ("light", "dark"):
                browser.emulate(624, 600, colours)
                browser.open(f"http://127.0.0.1:{port}/{demo_link()}")
                browser.wait("return document.getElementById('place').textContent.includes('/')")
                time.sleep(0.3)
                browser.screenshot(FOLDER / f"home-{colours}.png")
            for name, width, height, colours in CHATS:
                browser.emulate(width, height, colours)
                browser.open(f"http://127.0.0.1:{port}/")
                picture_chat(browser, name)
        finally:
            browser.close()


if __name__ == "__main__":
    main()

"""docs/server.md says what the server does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import unspool
from unspool.serve import ServeOptions, create_app
from unspool.serve.wires.chat import ChatRequest
from unspool.serve.wires.completions import CompletionRequest
from unspool.serve.wires.google import GoogleRequest
from unspool.serve.wires.messages import MessagesRequest
from unspool.serve.wires.responses import ResponseRequest
from unspool.serve.wires.shared_fields import SamplingFields
from unspool.serve.wires.wire import Wire

from .conftest import USER, client_of

PAGE = Path(__file__).parents[2] / "docs" / "server.md"
pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="runs in a checkout")

BODIES: dict[str, type[Wire]] = {
    "/v1/chat/completions": ChatRequest,
    "/v1/completions": CompletionRequest,
    "/v1/responses": ResponseRequest,
    "/v1/messages": MessagesRequest,
    "/v1beta/models/{name}:generateContent": GoogleRequest,
}


@pytest.mark.parametrize("path", BODIES)
def test_the_fields_are_those_that_are_read(path: str) -> None:
    section, common = (
        PAGE.read_text(encoding="utf-8").split(f"### {name}\n")[1].split("\n### ")[0]
        for name in (path, "Sampling fields")
    )
    told = re.findall(r"`(\w+)`", re.sub(r"\([^()]*\)", "", section))
    if issubclass(BODIES[path], SamplingFields):
        told += re.findall(r"^\| `(\w+)`", common, re.M)
    assert set(told) == set(BODIES[path].__struct_fields__)


def test_the_paths_and_metrics_are_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    app = create_app({})
    paths = {getattr(route, "path", "").replace("{name:path}", "{name}") for route in app.routes}
    paths = {
        path for path in paths if path != "/" and not path.startswith("/playground/")
    }  # a page of their own
    assert set(re.findall(r"`(?:GET|POST|DELETE) (/[\w./{}:]*)`", text)) == paths
    families = {family.name for family in app.state.server.metrics.registry.collect()}
    told = set(re.findall(r"`(unspool_\w+?)(?:_total)?(?:\{[^}]*\})?`", text))
    assert told == families


@pytest.mark.anyio
async def test_the_paths_that_need_no_key_are_those_that_are_named() -> None:
    section = PAGE.read_text(encoding="utf-8").split("## API keys\n")[1].split("\n## ")[0]
    named = set(re.findall(r"`(/[\w./]*)`", section.split("except:")[1].split("`/playground/run`")[0]))
    app = create_app({}, ServeOptions(api_keys="secret"))
    opened = set()
    async with client_of(app) as client:
        for route in app.routes:
            path, method = re.sub(r"\{.*?\}", "x", route.path), min(route.methods - {"HEAD"})
            if (await client.request(method, path)).status_code != 401:
                opened.add(path)
    assert {path for path in opened if not path.startswith("/playground/")} == named - {
        "/playground/",
        "/playground/formats",
    }
    assert {path for path in opened if path.startswith("/playground/") and "." not in path} == {
        "/playground/formats"
    }


def test_the_codes_examples_run(demo_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai")
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(blocks) == 2
    client = blocks[0].replace("http://127.0.0.1:11556", demo_url).replace("print(", "seen.append(")
    names: dict[str, Any] = {"messages": USER, "tools": [], "seen": []}
    exec(client, names)
    names["client"].close()
    assert names["seen"]
    from unspool import serve

    fired: list[Any] = []
    monkeypatch.setattr(serve.ApiServer, "fire", lambda _, **options: fired.append(options))
    monkeypatch.setattr("unspool.StreamGenerator", lambda *_: names.setdefault("made", _Model()))
    exec(blocks[1], {"model": None, "tokenizer": None})
    assert fired == [{"host": "127.0.0.1", "port": 11556}]


def test_the_block_that_asks_the_demo(demo_url: str) -> None:
    """docs/start.md, as it stands, but for the port."""
    pytest.importorskip("openai")
    page = PAGE.with_name("start.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(from openai .*?)```", page, re.S)
    tools = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]
    names: dict[str, Any] = {"tools": tools, "seen": []}
    exec(block.replace("http://127.0.0.1:11556", demo_url).replace("print(", "seen.append("), names)
    names["client"].close()
    assert any(delta.tool_calls for delta in names["seen"])


def test_the_agents_loop_asks_a_server(demo_url: str) -> None:
    """docs/agent-loop.md, as it stands, but for the port."""
    pytest.importorskip("openai")
    page = PAGE.with_name("agent-loop.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(from openai .*?)```", page, re.S)

    def get_weather(city: str) -> str:
        return f"sunny in {city}"

    names: dict[str, Any] = {"unspool": unspool, "get_weather": get_weather}
    exec(block.replace("http://127.0.0.1:11556", demo_url), names)
    names["client"].close()
    assert names["messages"][-1]["role"] == "tool"
    assert names["messages"][-1]["content"].startswith("sunny in ")


class _Model:
    def stream(self) -> None:
        """Makes it a model."""

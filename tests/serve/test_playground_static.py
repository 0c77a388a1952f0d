"""The static build of the playground: the core in WebAssembly reports what Python's reports."""

from __future__ import annotations

import functools
import http.server
import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import unspool
from unspool.serve.playground.run import run
from unspool.serve.playground.run_request import read_request
from unspool.testing.cases import shipped_cases

from .webdriver import MISSING, Browser

BUILD = Path(__file__).parents[2] / "build" / "playground"
FORMATS = [file.name for file in unspool.formats()]

pytestmark = [
    pytest.mark.skipif(
        not (BUILD / "unspool.wasm").exists(), reason="not built: python docs/playground/build_static.py"
    ),
    pytest.mark.xdist_group("chromium"),
]


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The build's files, named as Node wants its modules."""
    if shutil.which("node") is None:
        pytest.skip("no node")
    folder = tmp_path_factory.mktemp("modules")
    for name in ("core", "run", "regions"):
        text = (BUILD / f"{name}.js").read_text(encoding="utf-8").replace('.js";', '.mjs";')
        (folder / f"{name}.mjs").write_text(text, encoding="utf-8")
    for name in ("unspool.wasm", "formats.json"):
        shutil.copy(BUILD / name, folder)
    return folder


def run_wasm(folder: Path, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    script = Path(__file__).with_name("run_wasm.mjs")
    done = subprocess.run(
        ["node", str(script), str(folder)],
        input=json.dumps(requests),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def requests_of(format: str) -> Iterator[dict[str, Any]]:
    for number, case in enumerate(shipped_cases(format)):
        for chunk in ("tokens", 1, "bytes")[: 3 if number < 2 else 1]:
            yield {
                "format": case.format,
                "text": case.input,
                "tools": None if case.tools is None else list(case.tools),
                "options": case.options,
                "finish_reason": case.finish_reason,
                "chunk": chunk,
            }


@pytest.mark.parametrize("format", FORMATS)
def test_every_case_is_as_in_python(modules: Path, format: str) -> None:
    requests = list(requests_of(format))
    for request, found in zip(requests, run_wasm(modules, requests), strict=True):
        expected = json.loads(json.dumps(run(read_request(json.dumps(request).encode()))))
        assert found == expected, request


@pytest.mark.parametrize("also", ["hermes", ["mistral", "hermes"], "any"])
def test_other_families_are_as_in_python(modules: Path, also: Any) -> None:
    text = 'Hi <tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
    request = {
        "format": "mistral", "text": text, "tools": [{"name": "f"}], "options": {"also": also}, "chunk": "tokens"
    }  # fmt: skip
    (found,) = run_wasm(modules, [request])
    assert found["message"]["calls"][0]["written_as"] == "hermes"
    assert found == json.loads(json.dumps(run(read_request(json.dumps(request).encode()))))


@pytest.mark.parametrize("tools", [[{"name": "f"}], [{"name": "g"}], [], None])
@pytest.mark.parametrize("options", [{}, {"also": "hermes"}, {"tool_choice": "none"}])
def test_the_hint_is_as_in_python(modules: Path, tools: Any, options: dict[str, Any]) -> None:
    text = 'Hi <tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
    request = {"format": "mistral", "text": text, "tools": tools, "options": options, "chunk": "tokens"}
    (found,) = run_wasm(modules, [request])
    assert found == json.loads(json.dumps(run(read_request(json.dumps(request).encode()))))
    assert found["message"]["hint"] == ("hermes" if tools == [{"name": "f"}] and not options else None)


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"tools": "[{"}, "tools"),
        ({"tools": "{}"}, "tools"),
        ({"format": "nosuch"}, "format"),
        ({"options": {"reasoning": "nosuch"}}, "reasoning"),
        ({"options": {"also": "nosuch"}}, "options"),
        ({"options": {"also": ["deepseek_r1"]}}, "options"),
        ({"tools": [{"name": "f"}], "options": {"tool_choice": "g"}}, "options"),
        ({"tools": [5]}, "options"),
        ({"text": "a" * 5001, "chunk": 1}, "chunk"),
        ({"text": "a" * 200_001}, "text"),
    ],
)
def test_an_error_names_its_field_and_the_core_lives_on(
    modules: Path, fields: dict[str, Any], where: str
) -> None:
    request = {"format": "hermes", "text": "a", "chunk": "tokens", "tools": None, "options": {}, **fields}
    good = {"format": "hermes", "text": "a", "chunk": "tokens", "options": {}}
    failed, passed = run_wasm(modules, [request, good])
    assert failed["where"] == where
    assert failed["error"]
    assert passed["message"]["content"] == "a"


@pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (360, "light")])
def test_the_page_runs_without_a_server(tmp_path: Path, width: int, scheme: str) -> None:
    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=str(BUILD.parent))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    browser = Browser(tmp_path)
    try:
        browser.logs("browser")
        browser.emulate(width, 800, scheme)
        browser.open(f"http://127.0.0.1:{server.server_port}/playground/")
        browser.wait("return document.getElementById('place').textContent.includes('/')", timeout_s=30)
        browser.run("document.getElementById('last').click()")
        assert browser.text("#message .status") == "complete"
        assert browser.run("return document.getElementById('tabs').hidden")
        assert browser.run("return document.documentElement.scrollWidth") <= width
        browser.run(
            "const tools = document.getElementById('tools'); tools.value = '[{';"
            "tools.dispatchEvent(new Event('input'))"
        )
        browser.wait("return document.getElementById('tools-error') !== null")
        assert browser.logs("browser") == []
    finally:
        browser.close()
        server.shutdown()
        server.server_close()

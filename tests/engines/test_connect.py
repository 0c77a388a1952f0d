"""From an engine's URL to a model: what it is, where its tokenizer is, and what is wrong before anything is served."""

from __future__ import annotations

import contextlib
import json
import logging
import sys
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, get_args

import pytest

pytest.importorskip("aiohttp")
from unspool import ArgumentError, get_format
from unspool.__main__ import main
from unspool.errors import EngineError
from unspool.serve.engines import Kind, connect
from unspool.serve.engines.command import engine_loader
from unspool.testing.marker_tokenizer import marker_tokenizer

TEMPLATE = "{% for m in messages %}{{ m.content }}{% endfor %}"


class Answers(BaseHTTPRequestHandler):
    """Answers each path with a status and JSON."""

    paths: Mapping[str, Any]
    seen: list[tuple[str, str | None]]

    def do_GET(self) -> None:
        self.seen.append((self.path, self.headers["Authorization"]))
        status, body = self.paths.get(self.path, (404, {"error": {"message": f"no {self.path}"}}))
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.do_GET()

    def log_message(self, *_: Any) -> None:
        pass


@contextlib.contextmanager
def answering(paths: Mapping[str, Any]) -> Iterator[tuple[str, list[tuple[str, str | None]]]]:
    """The URL of an engine in a thread, and what it was asked."""
    seen: list[tuple[str, str | None]] = []
    kind = type("Engine", (Answers,), {"paths": paths, "seen": seen})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A model's folder with a tokenizer and a template."""
    marker_tokenizer(get_format("hermes")).save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "chat_template.jinja").write_text(TEMPLATE)
    return str(tmp_path)


def engines(folder: str) -> dict[str, dict[str, Any]]:
    """What each kind of engine answers."""
    listed = {"data": [{"id": "small", "root": folder, "max_model_len": 99}, {"id": "large", "root": folder}]}
    settings = {
        "default_generation_settings": {"n_ctx": 99},
        "model_path": "no/small.gguf",
        "chat_template": TEMPLATE,
    }
    return {
        "vllm": {"/version": (200, {"version": "0.33.0"}), "/v1/models": (200, listed)},
        "sglang": {
            "/get_model_info": (200, {"model_path": folder}),
            "/get_server_info": (200, {"context_length": 99}),
        },
        "llamacpp": {
            "/props": (200, settings),
            "/tokenize": (200, {"tokens": [1]}),
            "/v1/models": (200, listed),
        },
        "completions": {"/v1/models": (200, listed)},
    }


@pytest.mark.parametrize("kind", get_args(Kind))
def test_an_engine_says_what_it_is(kind: str, folder: str) -> None:
    with answering(engines(folder)[kind]) as (url, _):
        for given in (url, url + "/", url + "/v1", url + "/v1/"):
            model = connect(given, format="hermes", wait_s=0)
            (engine,) = model.engine.engines  # type: ignore[attr-defined]
            assert type(engine).__name__.lower().replace("llamacpp", "llamacpp") == kind
            assert model.context_length == 99
            assert model.tokenizer.apply_chat_template([{"role": "user", "content": "hi"}]) == "hi"
            assert str(engine).endswith(f" at {url}")


def test_the_templates_process_runs_before_the_first_request(folder: str) -> None:
    with answering(engines(folder)["vllm"]) as (url, _):
        model = connect(url, format="hermes", wait_s=0)
    (idle,) = model.tokenizer._renderer._idle.values()
    assert len(idle) == 1


def test_the_models_name_and_its_key_go_to_the_engine(folder: str) -> None:
    with answering(engines(folder)["vllm"]) as (url, seen):
        assert connect(url, format="hermes", wait_s=0).inference_name == "small"
        assert connect(url, format="hermes", model="large", api_key="k", wait_s=0).inference_name == "large"
    assert ("/v1/models", None) in seen
    assert ("/v1/models", "Bearer k") in seen


def test_answers_are_text_where_no_tokenizer_can_be_read(folder: str) -> None:
    with answering(engines(folder)["llamacpp"]) as (url, _):
        model = connect(url, format="hermes", wait_s=0)
        assert model.tokenizer.vocabulary is None
        assert model.tokenize("a") == [1]
        assert connect(url, tokenizer=folder, format="hermes", wait_s=0).tokenizer.vocabulary is not None


def test_another_models_tokenizer_is_noticed(folder: str, caplog: pytest.LogCaptureFixture) -> None:
    with (
        answering(engines(folder)["llamacpp"]) as (url, _),
        caplog.at_level(logging.WARNING, "unspool.serve"),
    ):
        connect(url, tokenizer=folder, format="hermes", wait_s=0)
    assert "is not the tokenizer of llama.cpp" in caplog.text


def test_a_template_of_ones_own_comes_first(folder: str, tmp_path: Path) -> None:
    own = tmp_path / "own.jinja"
    own.write_text("own")
    with answering(engines(folder)["vllm"]) as (url, _):
        model = connect(url, chat_template=str(own), format="hermes", wait_s=0)
        assert model.tokenizer.apply_chat_template([{"role": "user", "content": "hi"}]) == "own"


@pytest.mark.parametrize(
    ("paths", "status", "told"),
    [
        ({}, 502, "answers 404: no /v1/models"),
        ({"/props": (503, {"error": {"message": "Loading model"}})}, 503, "answers 503: Loading model"),
        ({"/v1/models": (401, {"detail": "no key"})}, 502, "answers 401: no key"),
        ({"/v1/models": (200, b"<html>")}, 502, "answers with no JSON"),
    ],
)
def test_an_engine_that_does_not_answer_well(paths: dict[str, Any], status: int, told: str) -> None:
    with answering(paths) as (url, _), pytest.raises(EngineError, match=told) as raised:
        connect(url, wait_s=0)
    assert raised.value.status == status


def test_nothing_listens_there() -> None:
    with pytest.raises(EngineError, match=r"does not answer: .*refused") as raised:
        connect("http://127.0.0.1:1", wait_s=0)
    assert (raised.value.status, raised.value.is_retryable) == (503, True)


def test_an_engine_is_waited_for(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = engines(folder)["vllm"]
    loading = {"/props": (503, {"error": {"message": "Loading model"}})}
    answers: dict[str, Any] = dict(loading)

    def has_loaded(_: float) -> None:
        answers.clear()
        answers.update(paths)

    monkeypatch.setattr("time.sleep", has_loaded)
    with answering(answers) as (url, _):
        assert connect(url, format="hermes").inference_name == "small"


def test_one_of_several_that_answers_is_enough(folder: str) -> None:
    with answering(engines(folder)["vllm"]) as (url, _):
        model = connect(["http://127.0.0.1:1", url], format="hermes", wait_s=0)
        assert str(model.engine) == f"vLLM at http://127.0.0.1:1, vLLM at {url}"
        assert model.context_length == 99


@pytest.mark.parametrize("answer", [{}, [], {"tokens": "abc"}, {"tokens": ["a"]}, {"tokens": [2**70]}])
def test_an_engine_that_tokenizes_into_no_ids(answer: Any, folder: str) -> None:
    paths = engines(folder)["llamacpp"]
    with answering(paths) as (url, _):
        model = connect(url, format="hermes", wait_s=0)
        paths["/tokenize"] = (200, answer)
        with pytest.raises(EngineError, match="token"):
            model.tokenize("a")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--engine", "127.0.0.1:8000"], "is no engine's URL; write it as http://"),
        (["--engine", "http://x", "--demo"], "name one model"),
        (["somewhere", "--engine", "http://x"], "name one model"),
        (["--engine", "http://x", "--format", "qwenn"], "did you mean 'qwen'"),
        (["--engine", "http://x", "--device", "cuda"], "--device is the engine's"),
        (["--config", "{url = 1, knd = 'vllm'}"], "unknown option 'knd'; did you mean 'kind'"),
        (["--config", "{kind = 'vllm'}"], "engines.m has no url"),
        (["--config", "{url = 'http://x'}", "--engine", "http://y"], "name one model"),
    ],
)
def test_wrong_uses_end_the_command_at_once(
    arguments: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if arguments[0] == "--config":
        file = tmp_path / "server.toml"
        file.write_text(f"[engines]\nm = {arguments[1]}\n")
        arguments = ["--config", str(file), *arguments[2:]]
    monkeypatch.setattr(sys, "argv", ["unspool", "serve", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert told in capsys.readouterr().err


def test_engines_by_name_have_the_commands_options_and_their_own(folder: str) -> None:
    shared = {
        "format": "hermes", "reasoning": None, "also": (), "chat_template": None, "trust_template": False,
        "max_new_tokens": 9,
    }  # fmt: skip
    with answering(engines(folder)["vllm"]) as (url, _):
        models = engine_loader(
            {"a": {"url": url, "model": "large"}, "b": {"url": [url], "format": "qwen3"}}, shared, 5.0
        )()
        assert {name: model.format_name() for name, model in models.items()} == {"a": "hermes", "b": "qwen3"}
        assert models["a"].inference_name == "large"
        assert list(engine_loader({None: {"url": [url]}}, shared, 5.0)()) == ["small"]


def test_a_kind_that_is_none_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="use one of vllm, sglang, llamacpp, completions"):
        connect("http://x", kind="tgi")  # type: ignore[arg-type]

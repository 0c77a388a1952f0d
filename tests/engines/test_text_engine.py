"""A completions endpoint that gives text alone, llama.cpp's, and what is read of it; what needs ids or a grammar is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
from unspool import ChatTokenizer
from unspool.generation.prompts.tokenizer_files import read_tokenizer

from ..gguf_models import write_scripted_model
from ..serve.conftest import running
from .engines import Served
from .llama_cpp_server import running_llama_cpp
from .scripted import FORMAT, TEMPLATE, VOCABULARY, Stage
from .suite import SUITE, Turn
from .test_suite import check_answers
from .wires import WIRES


@pytest.fixture(scope="module", params=["completions", "llamacpp"])
def text_served(stage: Stage, request: Any) -> Iterator[Served]:
    """llama.cpp's completions, and its own endpoint without a tokenizer here.

    The second's markers are control tokens. llama.cpp strips those from the text if they are not asked for.
    """
    from unspool.serve.engines import EngineModel, connect

    path = stage.gguf
    if request.param == "llamacpp":
        path = stage.folder / "control.gguf"
        special = replace(VOCABULARY, special=(*VOCABULARY.special, *VOCABULARY.markers), markers=())
        write_scripted_model(path, special, TEMPLATE, stage.book.following)
    with running_llama_cpp(path) as server:
        model = connect(server.url, kind=request.param, tokenizer=str(stage.folder), format=FORMAT)
        if request.param == "llamacpp":
            files = replace(read_tokenizer(str(stage.folder)), vocabulary=None, tokenizer=None)
            model = EngineModel(model.engine, ChatTokenizer(files), format=FORMAT)
        with running({"m": model}) as ours:
            yield Served(request.param, f"http://127.0.0.1:{ours.port}", stage, model)


def needs_more_than_text(turn: Turn, engine: str) -> bool:
    """Whether a request needs ids or, of OpenAI's completions, a grammar or a field that they do not have."""
    ask = turn.scenario.ask
    if engine == "llamacpp":
        return "stop_token_ids" in ask.fields
    fields = {"structured_outputs", "top_k", "stop_token_ids"} & set(ask.fields)
    return ask.choice not in ("auto", "none") or ask.is_strict or ask.response is not None or bool(fields)


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize("turn", SUITE, ids=str)
def test_text_is_read_and_what_needs_more_is_refused(text_served: Served, turn: Turn) -> None:
    if text_served.engine == "llamacpp" and turn.wire == "completions":
        pytest.skip("a completion is not parsed, and its control tokens are no text")
    if not needs_more_than_text(turn, text_served.engine):
        check_answers(text_served, turn)
        return
    body = text_served.stage.book.body(turn)
    answer = httpx.post(f"{text_served.url}{WIRES[turn.wire].path}", json=body, timeout=60)
    assert answer.status_code == 400, answer.text
    assert "leave it out" in answer.json()["error"]["message"]

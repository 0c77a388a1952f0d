"""A completions endpoint that gives text alone, llama.cpp's, and what is read of it; what needs ids or a grammar is refused."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from ..serve.conftest import running
from .engines import Served
from .llama_cpp_server import running_llama_cpp
from .scripted import FORMAT, Stage
from .suite import SUITE, Turn
from .test_suite import check_answers
from .wires import WIRES


@pytest.fixture(scope="module")
def text_served(stage: Stage) -> Iterator[Served]:
    from unspool.serve.engines import connect

    with running_llama_cpp(stage.gguf) as server:
        model = connect(server.url, kind="completions", tokenizer=str(stage.folder), format=FORMAT)
        with running({"m": model}) as ours:
            yield Served("completions", f"http://127.0.0.1:{ours.port}", stage, model)


def needs_more_than_text(turn: Turn) -> bool:
    """Whether a request needs ids, a grammar, or a field that OpenAI's completions do not have."""
    ask = turn.scenario.ask
    fields = {"structured_outputs", "top_k", "stop_token_ids"} & set(ask.fields)
    return ask.choice not in ("auto", "none") or ask.is_strict or ask.response is not None or bool(fields)


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize("turn", SUITE, ids=str)
def test_text_is_read_and_what_needs_more_is_refused(text_served: Served, turn: Turn) -> None:
    if not needs_more_than_text(turn):
        check_answers(text_served, turn)
        return
    body = text_served.stage.book.body(turn)
    answer = httpx.post(f"{text_served.url}{WIRES[turn.wire].path}", json=body, timeout=60)
    assert answer.status_code == 400, answer.text
    assert "leave it out" in answer.json()["error"]["message"]

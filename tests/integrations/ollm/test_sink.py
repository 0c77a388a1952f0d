"""Callbacks and server-sent events over a stream."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from unspool import StreamGenerator
from unspool.integrations.ollm import send_to_sink, status_events


class Sink:
    def __init__(self) -> None:
        self.log: list[tuple[str, Any]] = []

    def on_status(self, message: str) -> None:
        self.log.append(("status", message))

    def on_text(self, text: str) -> None:
        self.log.append(("text", text))

    def on_complete(self, result: Any) -> None:
        self.log.append(("complete", result))


def breaks(_: torch.Tensor, _scores: torch.Tensor) -> torch.Tensor:
    raise RuntimeError("the model broke")


def stream(llama: Any, tokenizer: Any, **options: Any) -> Any:
    return StreamGenerator(llama, tokenizer).stream("Hi there", max_new_tokens=8, do_sample=False, **options)


def test_callbacks_come_in_order(llama: Any, byte_tokenizer: Any) -> None:
    sink = Sink()
    result = send_to_sink(stream(llama, byte_tokenizer), sink)
    names = [name for name, _ in sink.log]
    assert names == ["status", *["text"] * (len(names) - 2), "complete"]
    assert "".join(text for name, text in sink.log if name == "text") == result.text
    assert sink.log[-1][1] == result


def test_a_failing_model_completes_nothing(llama: Any, byte_tokenizer: Any) -> None:
    sink = Sink()
    with pytest.raises(RuntimeError, match="the model broke"):
        send_to_sink(stream(llama, byte_tokenizer, logits_processor=[breaks]), sink)
    assert [name for name, _ in sink.log] == ["status"]


def read(events: list[str]) -> list[tuple[str, Any]]:
    lines = [event.split("\n") for event in events]
    assert all(len(parts) == 4 and parts[2:] == ["", ""] for parts in lines)
    return [
        (name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data, *_ in lines
    ]


def test_events(llama: Any, byte_tokenizer: Any) -> None:
    events = read(list(status_events(stream(llama, byte_tokenizer))))
    assert events[0] == ("status", {"message": "generating"})
    assert {name for name, _ in events[1:-1]} == {"text"}
    name, data = events[-1]
    assert (name, data["finish_reason"]) == ("complete", "length")
    assert data["text"] == "".join(data["text"] for name, data in events if name == "text")
    assert data["metadata"]["chunked_prefill_strategy_id"] == "transformers-generic-text"


def test_an_error_is_the_last_event(llama: Any, byte_tokenizer: Any) -> None:
    events = read(list(status_events(stream(llama, byte_tokenizer, logits_processor=[breaks]))))
    assert events[-1] == ("error", {"message": "the model broke", "type": "RuntimeError"})
    assert [name for name, _ in events] == ["status", "error"]

"""Callbacks and server-sent events instead of iteration, as in oLLM's servers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from unspool.generation import DeltaStream, StreamResult

__all__ = ["StreamSink", "send_to_sink", "status_events"]


class StreamSink(Protocol):
    """Receives a stream: its status, then its texts, then the result."""

    def on_status(self, message: str) -> None:
        """Receive the name of the step that now runs."""

    def on_text(self, text: str) -> None:
        """Receive a part of the answer's text; it is never empty."""

    def on_complete(self, result: StreamResult) -> None:
        """Receive the result. If the model fails, its exception is raised and this is not called."""


def send_to_sink(stream: DeltaStream, sink: StreamSink) -> StreamResult:
    """Pass a stream to a sink. An exception of the model is raised here."""
    sink.on_status("generating")
    for text in stream.text():
        sink.on_text(text)
    result = stream.result
    sink.on_complete(result)
    return result


def status_events(stream: DeltaStream) -> Iterator[str]:
    """Yield a stream as server-sent events: `status`, then `text`, then either `complete` or `error`."""
    yield _event("status", {"message": "generating"})
    try:
        for text in stream.text():
            yield _event("text", {"text": text})
    except Exception as error:
        yield _event("error", {"message": str(error), "type": type(error).__name__})
        return
    result = stream.result
    yield _event(
        "complete",
        {"text": result.text, "finish_reason": result.finish_reason, "metadata": dict(result.metadata)},
    )


def _event(name: str, data: dict[str, object]) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"

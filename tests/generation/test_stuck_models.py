"""A model that does not stop is reported."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest
from unspool import StreamGenerator
from unspool.generation import active_workers, worker

from .helpers import HeldModel, wait_for

PROMPT = "Hello"


def test_a_stuck_model_is_reported(
    byte_tokenizer: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(worker, "_STUCK_S", 0.1)
    model = HeldModel()
    stream = StreamGenerator(model, byte_tokenizer).stream(PROMPT)
    next(stream)
    with caplog.at_level(logging.WARNING, logger="unspool"):
        stream.close()
        stream.cancel()
        assert wait_for(lambda: len(caplog.records) > 0)
    (record,) = caplog.records
    message = record.getMessage()
    assert message.startswith(
        "request of HeldModel with 5 prompt tokens, 1 tokens generated: the model has been in one step"
    )
    assert "for 0." in message
    model.go_on.set()
    assert wait_for(lambda: active_workers() == 0)


def test_a_model_that_stops_in_time_is_not(
    byte_tokenizer: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(worker, "_STUCK_S", 0.3)
    model = HeldModel()
    stream = StreamGenerator(model, byte_tokenizer).stream(PROMPT)
    next(stream)
    before = threading.active_count()
    with caplog.at_level(logging.WARNING, logger="unspool"):
        stream.close()
        model.go_on.set()
        # The worker and the timer both end.
        assert wait_for(lambda: threading.active_count() < before)
    assert caplog.records == []

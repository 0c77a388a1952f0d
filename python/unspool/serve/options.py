"""The options of a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from unspool.errors import ArgumentError
from unspool.stream_options import IncompleteCalls, StopIn

__all__ = ["ServeOptions"]


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """The server's settings.

    Attributes:
        api_keys: A request must carry one of them; empty: none is asked for.
        max_workers: How many answers are generated at a time.
        max_queue: How many requests may wait for their turn; one more gets 429.
        retry_after_s: How long a refused client is asked to wait.
        keep_alive_s: After so long without a delta a comment is sent, so that no proxy gives up.
        flush_ms: Deltas after the first are gathered for so long and sent together; 0: each at once.
        stream_timeout_s: A model that gives no token for so long is given up; None: never.
        max_body_bytes: A longer request gets 413.
        allowed_origins: Pages of which origins may call it from a browser; "*" for all.
        reasoning_field: The name of reasoning in chat completions.
        reasoning_events: How the Responses API sends reasoning: as a summary, which all clients show, or as
            text, which LangChain and Vercel's AI SDK lose.
        incomplete_calls: What a client gets of a call that is cut off or malformed: "forward" what came of it,
            "withhold" nothing. A request may say otherwise.
        stop_in: Where stop strings count: in "content" alone, or "everywhere". A request may say otherwise.

    Raises:
        ArgumentError: A value is out of its range.
    """

    api_keys: Sequence[str] = ()
    max_workers: int = 10
    max_queue: int = 100
    retry_after_s: int = 1
    keep_alive_s: float = 15.0
    flush_ms: float = 0.0
    stream_timeout_s: float | None = None
    max_body_bytes: int = 32 * 1024 * 1024
    allowed_origins: Sequence[str] = ()
    reasoning_field: Literal["reasoning_content", "reasoning"] = "reasoning_content"
    reasoning_events: Literal["summary", "text"] = "summary"
    incomplete_calls: IncompleteCalls = "forward"
    stop_in: StopIn = "content"

    def __post_init__(self) -> None:
        for name in ("api_keys", "allowed_origins"):
            if isinstance(value := getattr(self, name), str):
                object.__setattr__(self, name, (value,))
        if not all(self.api_keys):
            raise ArgumentError("an API key is empty; leave it out, or give it a value")
        if self.max_workers < 1:
            raise ArgumentError(f"max_workers is {self.max_workers}; it must be at least 1")
        if self.max_queue < 0:
            raise ArgumentError(f"max_queue is {self.max_queue}; it must be at least 0")
        if not self.keep_alive_s > 0:
            raise ArgumentError(f"keep_alive_s is {self.keep_alive_s}; pass seconds above 0")
        for name, choices in (("incomplete_calls", IncompleteCalls), ("stop_in", StopIn)):
            if (value := getattr(self, name)) not in get_args(choices):
                raise ArgumentError(f"{name} is '{value}'; use {' or '.join(map(repr, get_args(choices)))}")
        if not 0 <= self.flush_ms <= 10_000:
            raise ArgumentError(f"flush_ms is {self.flush_ms}; pass milliseconds, at most 10000")
        if self.stream_timeout_s is not None and not self.stream_timeout_s > 0:
            raise ArgumentError(f"stream_timeout_s is {self.stream_timeout_s}; pass seconds above 0, or None")

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
        max_body_bytes: A longer body gets 413.
        max_header_bytes: Longer headers get 431.
        max_items: A body with more messages and parts, or more tools, gets 413.
        read_timeout_s: Time to send the headers, and then the body; a slower client gets 408.
        drain_timeout_s: Time for running answers to end when the server stops; the rest get an error event.
        allowed_origins: Pages of which origins may call it from a browser; "*" for all.
        allowed_hosts: Further names in `Host` that requests may have; "*" for all. A server on a loopback address
            accepts only loopback names otherwise, one on another address every name.
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
    max_body_bytes: int = 8 * 1024 * 1024
    max_header_bytes: int = 64 * 1024
    max_items: int = 10_000
    read_timeout_s: float = 60.0
    drain_timeout_s: float = 30.0
    allowed_origins: Sequence[str] = ()
    allowed_hosts: Sequence[str] = ()
    reasoning_field: Literal["reasoning_content", "reasoning"] = "reasoning_content"
    reasoning_events: Literal["summary", "text"] = "summary"
    incomplete_calls: IncompleteCalls = "forward"
    stop_in: StopIn = "content"

    def __post_init__(self) -> None:
        for name in ("api_keys", "allowed_origins", "allowed_hosts"):
            if isinstance(value := getattr(self, name), str):
                object.__setattr__(self, name, (value,))
        if not all(self.api_keys):
            raise ArgumentError("an API key is empty; leave it out, or give it a value")
        for name in ("max_workers", "max_body_bytes", "max_header_bytes", "max_items"):
            if (value := getattr(self, name)) < 1:
                raise ArgumentError(f"{name} is {value}; it must be at least 1")
        if self.max_queue < 0:
            raise ArgumentError(f"max_queue is {self.max_queue}; it must be at least 0")
        if not self.drain_timeout_s >= 0:
            raise ArgumentError(f"drain_timeout_s is {self.drain_timeout_s}; pass seconds, 0 or more")
        for name in ("keep_alive_s", "read_timeout_s"):
            if not (value := getattr(self, name)) > 0:
                raise ArgumentError(f"{name} is {value}; pass seconds above 0")
        for name, choices in (("incomplete_calls", IncompleteCalls), ("stop_in", StopIn)):
            if (value := getattr(self, name)) not in get_args(choices):
                raise ArgumentError(f"{name} is '{value}'; use {' or '.join(map(repr, get_args(choices)))}")
        if not 0 <= self.flush_ms <= 10_000:
            raise ArgumentError(f"flush_ms is {self.flush_ms}; pass milliseconds, at most 10000")
        if self.stream_timeout_s is not None and not self.stream_timeout_s > 0:
            raise ArgumentError(f"stream_timeout_s is {self.stream_timeout_s}; pass seconds above 0, or None")

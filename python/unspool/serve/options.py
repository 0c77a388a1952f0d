"""The options of a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from unspool.core.stream.stream_options import IncompleteCalls, StopIn
from unspool.errors import ArgumentError

__all__ = ["ServeOptions"]


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """The server's settings.

    Attributes:
        api_keys: The keys of which a request must have one; empty: no key is needed.
        max_workers: Maximum number of answers that are generated at a time.
        max_queue: Maximum number of queued requests; further ones get 429.
        retry_after_s: Seconds that a rejected client should wait (`Retry-After`).
        keep_alive_s: Seconds without a delta until a comment is sent, so that proxies keep the connection.
        flush_ms: Milliseconds for which deltas after the first are gathered before they are sent; 0: not at all.
        stream_timeout_s: Seconds without a token until the model is cancelled; None: no limit.
        max_body_bytes: Maximum size of a body; a longer one gets 413.
        max_header_bytes: Maximum size of the headers; longer ones get 431.
        max_items: Maximum number of messages and parts, and of tools; a body with more gets 413.
        read_timeout_s: Seconds to send the headers, and again to send the body; a slower client gets 408.
        prepare_timeout_s: Seconds for the work before the model: rendering the chat template, compiling a grammar. A
            request that takes longer gets 504.
        drain_timeout_s: Seconds for running answers to end when the server stops; the rest get an error event.
        allowed_origins: Origins whose pages may call the server from a browser; "*" for all.
        allowed_hosts: Further names that `Host` may have; "*" for all. Without these, a server on a loopback address
            accepts only loopback names, and a server on another address accepts every name.
        reasoning_field: The name of reasoning in chat completions.
        reasoning_events: The events of reasoning in the Responses API: a "summary", which all clients show, or "text",
            which LangChain and Vercel's AI SDK drop.
        incomplete_calls: Handling of a call that is cut off or malformed: "forward" sends its beginning, "withhold"
            sends nothing. A request may override it.
        stop_in: Where stop strings count: only in "content", or "everywhere". A request may override it.
        strict_markers: A marker that is not a token of the model counts only inside a part that a token has opened;
            elsewhere it is text. Models that replay text, such as the demo, do not support this.
        response_store_mb: Megabytes of memory for responses that clients may retrieve or continue; 0: none is kept.
        response_store_age_s: Seconds that a response is kept.
        strict_requests: Reject fields that would be ignored: unknown ones, or an effort without a switch in the model.
        record: A folder for one file per answer, which `unspool replay` reads; None: no files. A file has no
            headers, and only the parts of the request that are not a user's text.
        record_mb: Maximum size of these files together in megabytes, 1 or more; the oldest are deleted first.
        record_texts: Record the whole request, with the user's text.

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
    prepare_timeout_s: float = 30.0
    drain_timeout_s: float = 30.0
    allowed_origins: Sequence[str] = ()
    allowed_hosts: Sequence[str] = ()
    reasoning_field: Literal["reasoning_content", "reasoning"] = "reasoning_content"
    reasoning_events: Literal["summary", "text"] = "summary"
    incomplete_calls: IncompleteCalls = "forward"
    stop_in: StopIn = "content"
    strict_markers: bool = False
    response_store_mb: float = 0
    response_store_age_s: float = 3600.0
    strict_requests: bool = False
    record: str | None = None
    record_mb: float = 256.0
    record_texts: bool = False

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
        for name, unit in (("drain_timeout_s", "seconds"), ("response_store_mb", "megabytes")):
            if not (value := getattr(self, name)) >= 0:
                raise ArgumentError(f"{name} is {value}; pass {unit}, 0 or more")
        for name in ("keep_alive_s", "read_timeout_s", "prepare_timeout_s", "response_store_age_s"):
            if not (value := getattr(self, name)) > 0:
                raise ArgumentError(f"{name} is {value}; pass seconds above 0")
        for name, choices in (("incomplete_calls", IncompleteCalls), ("stop_in", StopIn)):
            if (value := getattr(self, name)) not in get_args(choices):
                raise ArgumentError(f"{name} is '{value}'; use {' or '.join(map(repr, get_args(choices)))}")
        if not 0 <= self.flush_ms <= 10_000:
            raise ArgumentError(f"flush_ms is {self.flush_ms}; pass milliseconds, at most 10000")
        if self.stream_timeout_s is not None and not self.stream_timeout_s > 0:
            raise ArgumentError(f"stream_timeout_s is {self.stream_timeout_s}; pass seconds above 0, or None")

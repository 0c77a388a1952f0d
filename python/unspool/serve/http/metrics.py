"""Metrics for Prometheus and as JSON. Each app has its own registry, so one process may hold several apps."""

from __future__ import annotations

import collections
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from unspool.serve.http.histogram import Histogram
from unspool.serve.http.telemetry import record_request

if TYPE_CHECKING:
    from collections.abc import Callable

    from unspool.generation.stream_result import StreamResult
    from unspool.serve.http.limits import Limits
    from unspool.serve.http.preparing import Preparing

__all__ = ["FOLDER", "Metrics", "ProcessesCollector", "RequestMetrics", "Status"]

Status = str  # success, invalid, rejected, cancelled, error

_FIRST_TOKEN_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_BETWEEN_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)
_STAGE_S = (0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
_TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384)
_HELD_BYTES = (0, 1, 4, 16, 64, 256, 1024, 4096)


#: The environment variable with the folder of the files that processes share; prometheus_client reads it.
FOLDER = "PROMETHEUS_MULTIPROC_DIR"


class ProcessesCollector(MultiProcessCollector):
    """The metrics of all processes together; gauges count only processes that are alive."""

    def __init__(self, registry: CollectorRegistry, folder: str) -> None:
        super().__init__(registry, folder)  # type: ignore[no-untyped-call]
        self._folder = folder

    def collect(self) -> Any:
        """As in prometheus_client."""
        for file in Path(self._folder).glob("gauge_live*.db"):
            pid = int(file.stem.rsplit("_", 1)[-1])
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                mark_process_dead(pid, self._folder)  # type: ignore[no-untyped-call]
        return super().collect()  # type: ignore[no-untyped-call]


class Metrics:
    """All of a server's metrics.

    Args:
        limits: Has the numbers of running and waiting requests.
        preparing: Has the number of lost threads.
    """

    def __init__(self, limits: Limits, preparing: Preparing) -> None:
        self.registry = CollectorRegistry()
        self.requests = self._counter(
            "requests", "Requests by how they ended", "endpoint", "model", "status", "code"
        )
        self.tokens = self._counter("token_throughput", "Tokens", "model", "operation")
        self.faults = self._counter("parser_faults", "What parsers could not read", "format", "kind")
        self.ignored = self._counter("ignored", "Requests with a field that was ignored", "field")
        self.first_token = self._histogram(
            "time_to_first_token_seconds", "From the request to its first token", _FIRST_TOKEN_S
        )
        self.between_tokens = self._histogram("inter_token_seconds", "Between two tokens", _BETWEEN_S)
        self.latency = self._histogram("inference_latency_seconds", "By stage", _STAGE_S, "stage")
        self.length = self._histogram("generation_length", "Tokens of a request's answers", _TOKENS)
        self.held = self._histogram("held_bytes", "Held back where deltas were sent", _HELD_BYTES)
        self._gauges: list[tuple[Gauge, Callable[[], int]]] = [
            (Gauge(f"unspool_{name}", meaning, registry=self.registry, multiprocess_mode="livesum"), read)
            for name, meaning, read in (
                ("requests_in_flight", "Answers that are being generated", lambda: limits.running_count),
                ("queue_size", "Requests that wait for their turn", lambda: limits.waiting_count),
                ("lost_threads", "Preparations that were given up and go on", lambda: preparing.lost_count),
            )
        ]
        limits.on_change = preparing.on_change = self._read_gauges
        self._shown = self.registry
        if (folder := os.environ.get(FOLDER)) is not None:
            self._shown = CollectorRegistry()
            ProcessesCollector(self._shown, folder)

    def _read_gauges(self) -> None:
        for gauge, read in self._gauges:
            gauge.set(read())

    def render(self) -> bytes:
        """Return the text that Prometheus reads, for all processes of the server."""
        return generate_latest(self._shown)

    def to_dict(self) -> dict[str, Any]:
        """Return each metric's type, help and samples by name, as in the text for Prometheus."""
        return {
            family.name: {
                "type": family.type,
                "help": family.documentation,
                "samples": [
                    {"name": sample.name, "labels": sample.labels, "value": sample.value}
                    for sample in family.samples
                    if not sample.name.endswith("_created")
                ],
            }
            for family in self._shown.collect()
        }

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(f"unspool_{name}", meaning, labels, registry=self.registry)

    def _histogram(self, name: str, meaning: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(f"unspool_{name}", meaning, labels, buckets=buckets, registry=self.registry)


class RequestMetrics:
    """The metrics of one request, from its arrival to its end."""

    def __init__(self, metrics: Metrics, endpoint: str) -> None:
        self._metrics = metrics
        self.endpoint = endpoint
        self._begin_s = time.perf_counter()
        self._turn_s: float | None = None
        self._first_s: float | None = None
        self._is_over = False
        self._held: collections.Counter[float] = collections.Counter()
        self.model = ""
        self.format = ""
        #: Set if the HTTP status does not show the outcome, as for a stream that broke off.
        self.status: Status | None = None
        self._token_s: float | None = None

    def got_turn(self) -> None:
        """Record that the request leaves the queue."""
        self._turn_s = time.perf_counter()
        self._metrics.latency.labels("queue").observe(self._turn_s - self._begin_s)

    def got_deltas(self, held_bytes: int) -> None:
        """Record that deltas have arrived, and that `held_bytes` bytes are held back after them."""
        if self._first_s is None:
            self._first_s = time.perf_counter()
            self._metrics.first_token.observe(self._first_s - self._begin_s)
        self._held[held_bytes] += 1

    def got_result(self, result: StreamResult) -> None:
        """Record that the generation has ended."""
        count = result.usage.completion_tokens
        speed = result.metrics.output_tokens_per_second
        self._token_s = 1 / speed if speed else None
        self._metrics.tokens.labels(self.model, "prompt").inc(result.usage.prompt_tokens)
        self._metrics.tokens.labels(self.model, "completion").inc(count)
        self._metrics.length.observe(count)
        self._metrics.held.observe_counts(self._held)
        gaps_s = (gap_ms / 1000 for gap_ms in result.metrics.inter_token_ms)
        self._metrics.between_tokens.observe_counts(collections.Counter(gaps_s))
        for choice in result.choices:
            message = choice.message
            for kind, fault_count in (
                ("malformed", len(message.malformed)),
                ("dropped", len(message.dropped)),
                ("incomplete", sum(call.status == "incomplete" for call in message.tool_calls)),
            ):
                if fault_count:
                    self._metrics.faults.labels(self.format, kind).inc(fault_count)
        if self._turn_s is not None and self._first_s is not None:
            self._metrics.latency.labels("prefill").observe(self._first_s - self._turn_s)
            self._metrics.latency.labels("decode").observe(time.perf_counter() - self._first_s)

    def end(self, code: int) -> None:
        """Record that the response is sent with this HTTP status; 0: the client disconnected before."""
        if self._is_over:
            return
        self._is_over = True
        status = self.status or _status_of(code)
        self._metrics.requests.labels(self.endpoint, self.model, status, str(code)).inc()
        took_s = time.perf_counter() - self._begin_s
        self._metrics.latency.labels("total").observe(took_s)
        if self.format:  # a model ran
            error = None if status == "success" else status
            first_s = None if self._first_s is None else self._first_s - self._begin_s
            record_request(self.endpoint, self.model, took_s, error, first_s, self._token_s)


def _status_of(code: int) -> Status:
    if code == 0:
        return "cancelled"
    if code == 429:
        return "rejected"
    if code >= 500:
        return "error"
    return "invalid" if code >= 400 else "success"

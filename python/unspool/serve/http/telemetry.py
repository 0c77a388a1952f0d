"""A server's spans and metrics for OpenTelemetry, if the program uses OpenTelemetry."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unspool.generation.telemetry import histogram, is_used, tracer

__all__ = ["TracedRequests", "record_request"]


class TracedRequests:
    """Makes a span for each request to the API, as a part of the client's trace.

    Makes none if another middleware has already begun a span for the request.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "http" and scope["path"].startswith(("/v1/", "/v1beta/")) and is_used():
            return self._trace(scope, receive, send)
        return self._app(scope, receive, send)

    async def _trace(self, scope: Scope, receive: Receive, send: Send) -> None:
        from opentelemetry import propagate, trace

        if trace.get_current_span().is_recording():
            await self._app(scope, receive, send)
            return
        method = scope["method"]
        with tracer().start_as_current_span(
            method,
            context=propagate.extract(Headers(scope=scope)),
            kind=trace.SpanKind.SERVER,
            attributes={
                "http.request.method": method,
                "url.path": scope["path"],
                "url.scheme": scope["scheme"],
            },
        ) as span:

            async def watched(message: Message) -> None:
                if message["type"] == "http.response.start":
                    status = message["status"]
                    span.set_attribute("http.response.status_code", status)
                    if status >= 500:
                        span.set_attribute("error.type", str(status))
                        span.set_status(trace.StatusCode.ERROR)
                await send(message)

            try:
                await self._app(scope, receive, watched)
            finally:
                metrics = scope.get("unspool.metrics")
                if metrics is not None and metrics.endpoint:
                    span.update_name(f"{method} {metrics.endpoint}")
                    span.set_attribute("http.route", metrics.endpoint)
                if metrics is not None and metrics.model:
                    span.set_attribute("gen_ai.request.model", metrics.model)
                if metrics is not None and metrics.status is not None:
                    span.set_attribute("error.type", metrics.status)
                    span.set_status(trace.StatusCode.ERROR)


def record_request(
    endpoint: str,
    model: str,
    duration_s: float,
    error: str | None,
    first_s: float | None,
    token_s: float | None,
) -> None:
    """Record the metrics of an answer.

    Args:
        duration_s: Seconds of the whole answer.
        error: The kind of failure; None: success.
        first_s: Seconds until its first token; None: there was none.
        token_s: Mean seconds between two tokens; None: unknown.
    """
    if not is_used():
        return
    labels: dict[str, Any] = {
        "gen_ai.operation.name": _OPERATIONS.get(endpoint, "chat"),
        "gen_ai.provider.name": "unspool",
        "gen_ai.request.model": model,
    }
    failed = labels if error is None else {**labels, "error.type": error}
    histogram("gen_ai.server.request.duration").record(duration_s, failed)
    if first_s is not None:
        histogram("gen_ai.server.time_to_first_token").record(first_s, labels)
    if token_s is not None:
        histogram("gen_ai.server.time_per_output_token").record(token_s, labels)


_OPERATIONS = {"/v1/completions": "text_completion"}

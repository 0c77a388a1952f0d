"""GET /health, /liveness, /readiness, /metrics, /metrics.json."""

from __future__ import annotations

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from unspool.serve.state import state_of

__all__ = ["health_routes"]


async def _liveness(_: Request) -> Response:
    return JSONResponse({"status": "alive"})


async def _readiness(request: Request) -> Response:
    state = state_of(request)
    if state.is_ready:
        return JSONResponse({"status": "ready"})
    status = "stopping" if state.is_stopping else "loading" if state.failure is None else "failed"
    return JSONResponse({"status": status}, 503)


async def _metrics(request: Request) -> Response:
    return Response(state_of(request).metrics.render(), media_type=CONTENT_TYPE_LATEST)


async def _metrics_json(request: Request) -> Response:
    return JSONResponse(state_of(request).metrics.to_dict())


def health_routes() -> list[Route]:
    """The routes for liveness, readiness and metrics."""
    return [
        Route("/health", _readiness),
        Route("/liveness", _liveness),
        Route("/readiness", _readiness),
        Route("/metrics", _metrics),
        Route("/metrics.json", _metrics_json),
    ]

"""GET /health, /liveness, /readiness, /metrics, /metrics.json, /v1/models and Google's /v1beta/models."""

from __future__ import annotations

from typing import Any

import anyio.to_thread
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from unspool.generation.served_model import ServedModel
from unspool.serve.state import ServerState, state_of

__all__ = ["health_routes", "model_routes"]


async def _liveness(_: Request) -> Response:
    return JSONResponse({"status": "alive"})


async def _readiness(request: Request) -> Response:
    state = state_of(request)
    if state.is_ready:
        return JSONResponse({"status": "ready"})
    status = "stopping" if state.is_stopping else "loading"
    if state.models is not None and not state.is_stopping:
        status = "stuck" if not state.preparing.has_room else "engine"
    status = status if state.failure is None else "failed"
    return JSONResponse({"status": status}, 503)


async def _metrics(request: Request) -> Response:
    return Response(state_of(request).metrics.render(), media_type=CONTENT_TYPE_LATEST)


async def _metrics_json(request: Request) -> Response:
    return JSONResponse(state_of(request).metrics.to_dict())


def _entry(state: ServerState, name: str, model: ServedModel) -> dict[str, Any]:
    """Return OpenAI's entry for a model, with vLLM's `max_model_len`; null if the model does not report its length."""
    return {
        "id": name,
        "object": "model",
        "created": state.created,
        "owned_by": "unspool",
        "max_model_len": model.context_length,
    }


def _google_entry(_: ServerState, name: str, model: ServedModel) -> dict[str, Any]:
    length = model.context_length
    limits = {} if length is None else {"inputTokenLimit": length, "outputTokenLimit": length}
    verbs = ["generateContent", "streamGenerateContent", "countTokens"]
    return {"name": f"models/{name}", "displayName": name, **limits, "supportedGenerationMethods": verbs}


def _is_google(request: Request) -> bool:
    """Whether the request comes from one of Google's SDKs, which use v1 or v1beta."""
    return request.url.path.startswith("/v1beta/") or "x-goog-api-key" in request.headers


async def _list_models(request: Request) -> Response:
    state = state_of(request)
    models, is_google = state.check_ready(), _is_google(request)
    entry = _google_entry if is_google else _entry
    entries = await anyio.to_thread.run_sync(lambda: [entry(state, name, models[name]) for name in models])
    listed = {"models": entries} if is_google else {"object": "list", "data": entries, "has_more": False}
    return JSONResponse(listed)


async def _get_model(request: Request) -> Response:
    state = state_of(request)
    name = request.path_params["name"]
    entry = _google_entry if _is_google(request) else _entry
    return JSONResponse(entry(state, name, await state.find_model(name)))


def health_routes() -> list[Route]:
    """The routes for liveness, readiness and metrics."""
    return [
        Route("/health", _readiness),
        Route("/liveness", _liveness),
        Route("/readiness", _readiness),
        Route("/metrics", _metrics),
        Route("/metrics.json", _metrics_json),
    ]


def model_routes() -> list[Route]:
    """The routes that list models."""
    return [
        Route("/v1/models", _list_models),
        Route("/v1/models/{name:path}", _get_model),
        Route("/v1beta/models", _list_models),
        Route("/v1beta/models/{name:path}", _get_model),
    ]

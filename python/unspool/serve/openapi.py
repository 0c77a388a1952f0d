"""GET /openapi.json and /docs: the API's description, made from what the readers of requests read."""

from __future__ import annotations

import functools
import html
from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from unspool._core import __version__
from unspool.serve.fields import recorded
from unspool.serve.tokenizing import TOKENIZING_READERS

__all__ = ["openapi", "openapi_routes"]

_MESSAGES = [{"role": "user", "content": "Hello"}]

# The shortest body of each path, whose fields are those that are required.
_BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"model": "m", "messages": _MESSAGES},
    "/v1/completions": {"model": "m", "prompt": "Hello"},
    "/v1/responses": {"model": "m", "input": "Hello"},
    "/v1/messages": {"model": "m", "messages": _MESSAGES, "max_tokens": 1},
    "/tokenize": {"prompt": "Hello"},
    "/detokenize": {"tokens": [1]},
    "/v1/tokenize": {"model": "m", "prompt": "Hello"},
    "/v1/count_tokens": {"model": "m", "conversation": "Hello"},
    "/v1/messages/count_tokens": {"model": "m", "messages": _MESSAGES},
}
# Another body of a path, for fields that the first leaves unread.
_OTHER_BODIES: dict[str, dict[str, Any]] = {
    "/tokenize": {"messages": _MESSAGES},
    "/v1/tokenize": {"model": "m", "messages": _MESSAGES},
}
_GETS = {
    "/v1/models": "The models.",
    "/v1/models/{name}": "One model.",
    "/health": "200 if requests are served.",
    "/readiness": "200 if requests are served.",
    "/liveness": "200 while the process lives.",
    "/metrics": "Metrics for Prometheus.",
}
_SUMMARIES = {
    "/v1/chat/completions": "OpenAI's chat completions.",
    "/v1/completions": "OpenAI's completions.",
    "/v1/responses": "OpenAI's Responses.",
    "/v1/messages": "Anthropic's Messages.",
    "/tokenize": "Token ids of a text or of messages.",
    "/detokenize": "The text of token ids.",
    "/v1/tokenize": "Token ids of a prompt or of messages.",
    "/v1/count_tokens": "The number of tokens of a text or of messages.",
    "/v1/messages/count_tokens": "The number of tokens of a body of Messages.",
}


def openapi(readers: Mapping[str, Callable[[Any], object]]) -> dict[str, Any]:
    """The OpenAPI 3.1 description.

    Args:
        readers: The reader of each path that generates an answer.
    """
    paths: dict[str, Any] = {}
    for path, read in {**readers, **TOKENIZING_READERS}.items():
        ok: dict[str, Any] = {"application/json": {}}
        if path in readers:
            ok["text/event-stream"] = {}
        paths[path] = {
            "post": {
                "summary": _SUMMARIES[path],
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": _schema(path, read)}},
                },
                "responses": {"200": {"description": "The answer.", "content": ok}, "default": _ERROR},
            }
        }
    for path, summary in _GETS.items():
        parameter = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
        paths[path] = {
            "get": {
                "summary": summary,
                "parameters": [parameter] if "{name}" in path else [],
                "responses": {"200": {"description": summary}, "default": _ERROR},
            }
        }
    return {"openapi": "3.1.0", "info": {"title": "unspool", "version": __version__}, "paths": paths}


_ERROR = {
    "description": "An error in the form of the path's protocol.",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "properties": {
                    "error": {"type": "object", "properties": {"message": {"type": "string"}}},
                    "request_id": {"type": "string"},
                },
            }
        }
    },
}


def _schema(path: str, read: Callable[[Any], object]) -> dict[str, Any]:
    bodies = [_BODIES[path], *([_OTHER_BODIES[path]] if path in _OTHER_BODIES else [])]
    fields: dict[str, Any] = {}
    for body in bodies:
        fields = {**recorded(read, body), **fields}
    whole: dict[str, Any] = {
        "type": "object",
        "properties": {},
        "required": sorted(set(bodies[0]).intersection(*bodies)),
        "additionalProperties": False,
    }
    for place, schema in fields.items():
        name, _, inner = place.partition(".")
        if "[" in place:  # an item of a list
            continue
        if not inner:
            whole["properties"].setdefault(name, dict(schema))
        elif "." not in inner:
            outer = whole["properties"].setdefault(name, {"type": "object"})
            outer.setdefault("properties", {})[inner] = schema
    return whole


def _page(description: Mapping[str, Any]) -> str:
    """The description as one page without scripts."""
    parts = []
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            parts.append(f"<h2><code>{method.upper()} {html.escape(path)}</code></h2>")
            parts.append(f"<p>{html.escape(operation['summary'])}</p>")
            body = operation.get("requestBody")
            if body is None:
                continue
            schema = body["content"]["application/json"]["schema"]
            rows = [
                f"<tr><td><code>{html.escape(name)}</code>{' (required)' * (name in schema['required'])}</td>"
                f"<td>{html.escape(str(field.get('type', 'any')))}</td>"
                f"<td>{html.escape(field.get('description', ''))}</td></tr>"
                for name, field in schema["properties"].items()
            ]
            parts.append(f"<table>{''.join(rows)}</table>")
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>unspool: the API</title><style>'
        "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}"
        "td{padding:.1rem 1rem .1rem 0;vertical-align:top}h2{font-size:1.1rem;margin-top:2rem}</style>"
        f'<h1>The API</h1><p>Also as <a href="openapi.json">openapi.json</a>.</p>{"".join(parts)}</html>'
    )


_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
}


def openapi_routes(readers: Mapping[str, Callable[[Any], object]]) -> list[Route]:
    """The routes of the description and its page."""
    described = functools.cache(lambda: openapi(readers))

    async def _json(_: Request) -> Response:
        return JSONResponse(described())

    async def _docs(_: Request) -> Response:
        return HTMLResponse(_page(described()), headers=_HEADERS)

    return [Route("/openapi.json", _json), Route("/docs", _docs)]

"""GET /openapi.json and /docs: the API's description, generated from the structs of requests."""

from __future__ import annotations

import functools
import html
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from unspool._core import __version__
from unspool.serve.tokenizing import (
    ConversationRequest,
    DetokenizeRequest,
    TokenizeChat,
    TokenizeText,
)
from unspool.serve.wires.chat import ChatRequest
from unspool.serve.wires.completions import CompletionRequest
from unspool.serve.wires.google import GoogleCountRequest, GoogleRequest
from unspool.serve.wires.messages import CountRequest, MessagesRequest
from unspool.serve.wires.responses import ResponseRequest
from unspool.serve.wires.shared_fields import AnswerFields
from unspool.serve.wires.wire import Wire

__all__ = ["openapi", "openapi_routes"]

# The summary of each path, and its body: one of these types.
_POSTS: dict[str, tuple[str, tuple[type[Wire], ...]]] = {
    "/v1/chat/completions": ("OpenAI's chat completions.", (ChatRequest,)),
    "/v1/completions": ("OpenAI's completions.", (CompletionRequest,)),
    "/v1/responses": ("OpenAI's Responses.", (ResponseRequest,)),
    "/v1/messages": ("Anthropic's Messages.", (MessagesRequest,)),
    "/tokenize": ("Token ids of a text or of messages.", (TokenizeText, TokenizeChat)),
    "/detokenize": ("The text of token ids.", (DetokenizeRequest,)),
    "/v1/count_tokens": ("The number of tokens of a text or of messages.", (ConversationRequest,)),
    "/v1/messages/count_tokens": ("The number of tokens of a body of Messages.", (CountRequest,)),
    "/v1beta/models/{name}:generateContent": ("Google's generateContent.", (GoogleRequest,)),
    "/v1beta/models/{name}:streamGenerateContent": ("The same as a stream.", (GoogleRequest,)),
    "/v1beta/models/{name}:countTokens": ("The number of tokens of such a body.", (GoogleCountRequest,)),
}
_GETS = {
    "/v1/models": "The models.",
    "/v1/models/{name}": "One model.",
    "/v1/responses/{id}": "A stored response.",
    "/v1/responses/{id}/input_items": "The input items of a stored response.",
    "/v1beta/models": "The models, as Google has them.",
    "/v1beta/models/{name}": "One of them.",
    "/health": "200 if requests are served.",
    "/readiness": "200 if requests are served.",
    "/liveness": "200 while the process lives.",
    "/metrics": "Metrics for Prometheus.",
    "/metrics.json": "The same metrics as JSON.",
}


def openapi() -> dict[str, Any]:
    """The OpenAPI 3.1 description."""
    bodies = [body for _, kinds in _POSTS.values() for body in kinds]
    references, schemas = msgspec.json.schema_components(bodies, ref_template="#/components/schemas/{name}")
    reference = dict(zip(bodies, references, strict=True))
    paths: dict[str, Any] = {}
    for path, (summary, kinds) in _POSTS.items():
        ok: dict[str, Any] = {"application/json": {}}
        if path.endswith(":streamGenerateContent") or (
            issubclass(kinds[0], AnswerFields) and kinds[0] is not CountRequest
        ):
            ok["text/event-stream"] = {}
        schema = {"anyOf": [reference[kind] for kind in kinds]} if len(kinds) > 1 else reference[kinds[0]]
        paths[path] = {
            "post": {
                "summary": summary,
                "parameters": _parameters(path),
                "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
                "responses": {"200": {"description": "The answer.", "content": ok}, "default": _ERROR},
            }
        }
    for path, summary in _GETS.items():
        paths[path] = {"get": _plain(path, summary)}
    stored = "/v1/responses/{id}"
    paths[stored]["delete"] = _plain(stored, "Delete a stored response.")
    # Google's SDKs use either version.
    paths |= {path.replace("/v1beta/", "/v1/"): item for path, item in paths.items() if ":" in path}
    info = {"title": "unspool", "version": __version__}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": {"schemas": schemas}}


def _plain(path: str, summary: str) -> dict[str, Any]:
    """Return an operation without a body."""
    ok = {"description": summary}
    return {"summary": summary, "parameters": _parameters(path), "responses": {"200": ok, "default": _ERROR}}


def _parameters(path: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)}", path)
    ]


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


def _table(description: Mapping[str, Any], reference: Mapping[str, str]) -> str:
    """Return an HTML table of a body's fields."""
    schema = description["components"]["schemas"][reference["$ref"].rpartition("/")[2]]
    rows = [
        f"<tr><td><code>{html.escape(name)}</code>{' (required)' * (name in schema['required'])}</td>"
        f"<td>{html.escape(_type(field))}</td><td>{html.escape(field.get('description', ''))}</td></tr>"
        for name, field in schema["properties"].items()
    ]
    return f"<table>{''.join(rows)}</table>"


def _type(schema: Mapping[str, Any]) -> str:
    """Return a field's type in a few words."""
    if "anyOf" in schema:
        names = dict.fromkeys(_type(kind) for kind in schema["anyOf"] if kind != {"type": "null"})
        return " or ".join(names)
    return str(schema.get("type") or ("object" if "$ref" in schema else "any"))


def _page(description: Mapping[str, Any]) -> str:
    """Return the description as one page without scripts."""
    parts = []
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            parts.append(f"<h2><code>{method.upper()} {html.escape(path)}</code></h2>")
            parts.append(f"<p>{html.escape(operation['summary'])}</p>")
            if "requestBody" in operation:
                body = operation["requestBody"]["content"]["application/json"]["schema"]
                parts.append(
                    "<p>or</p>".join(_table(description, schema) for schema in body.get("anyOf", [body]))
                )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>unspool: the API</title><style>'
        "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}"
        "td{padding:.1rem 1rem .1rem 0;vertical-align:top}h2{font-size:1.1rem;margin-top:2rem}</style>"
        f'<h1>The API</h1><p>Also as <a href="openapi.json">openapi.json</a>.</p>{"".join(parts)}</html>'
    )


_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
}


def openapi_routes() -> list[Route]:
    """The routes of the description and its page."""
    described = functools.cache(openapi)

    async def _json(_: Request) -> Response:
        return JSONResponse(described())

    async def _docs(_: Request) -> Response:
        return HTMLResponse(_page(described()), headers=_HEADERS)

    return [Route("/openapi.json", _json), Route("/docs", _docs)]

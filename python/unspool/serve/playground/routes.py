"""Routes of the page, its files and its endpoints."""

from __future__ import annotations

from importlib.resources import files

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from unspool.errors import UnknownFormatError
from unspool.serve.playground.examples import example_list, format_list
from unspool.serve.playground.run import run
from unspool.serve.playground.run_request import RunError, read_request

__all__ = ["OPEN_PATHS", "create_playground_app", "playground_routes"]

# JSON may write each byte of text as six; tools and options need further space.
MAX_BODY_BYTES = 2_000_000

_TYPES = {
    "index.html": "text/html; charset=utf-8",
    "playground.js": "text/javascript; charset=utf-8",
    "backend.js": "text/javascript; charset=utf-8",
    "chat.js": "text/javascript; charset=utf-8",
    "chat_run.js": "text/javascript; charset=utf-8",
    "event_stream.js": "text/javascript; charset=utf-8",
    "combobox.js": "text/javascript; charset=utf-8",
    "view.js": "text/javascript; charset=utf-8",
    "style.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
}

#: Paths that need no API key: the page itself, so that it can ask for the key. They reveal nothing about the server.
OPEN_PATHS = frozenset({"/", "/playground/formats", *(f"/playground/{name}" for name in _TYPES)})

# Model output is untrusted: no inline script or style, no other host, no HTML made from text.
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def playground_routes(*, has_chat: bool = False, needs_key: bool = False) -> list[Route]:
    """Return the routes of the page at `/`, and of its files and endpoints (`formats`, `examples/NAME`, `run`) under
    `/playground/`.

    Args:
        has_chat: Whether the application also serves `/v1/models` and `/v1/chat/completions`, for a chat on the page.
        needs_key: Whether the application requires an API key except on `OPEN_PATHS`; the page then has a field for it.
    """

    def formats(request: Request) -> Response:  # noqa: ARG001
        answer = {"formats": format_list(), "has_chat": has_chat, "needs_key": needs_key}
        return JSONResponse(answer, headers=_HEADERS)

    return [
        Route("/", _page),
        Route("/playground/formats", formats),
        Route("/playground/examples/{name}", _examples),
        Route("/playground/run", _run, methods=["POST"]),
        Route("/playground/{file}", _file),
    ]


def create_playground_app() -> Starlette:
    """Create an ASGI application with only the playground."""
    return Starlette(routes=playground_routes())


def _static(name: str) -> Response:
    if name not in _TYPES:
        return _failure(RunError("path", f"there is no file '{name}'", status=404))
    content = (files("unspool.serve.playground") / "static" / name).read_bytes()
    return Response(content, headers={**_HEADERS, "Content-Type": _TYPES[name]})


def _page(request: Request) -> Response:  # noqa: ARG001
    return _static("index.html")


def _file(request: Request) -> Response:
    return _static(request.path_params["file"])


def _examples(request: Request) -> Response:
    try:
        return JSONResponse({"examples": example_list(request.path_params["name"])}, headers=_HEADERS)
    except UnknownFormatError as error:
        return _failure(RunError("format", str(error), status=404))


async def _run(request: Request) -> Response:
    try:
        body = await _body(request)
        return await run_in_threadpool(lambda: JSONResponse(run(read_request(body)), headers=_HEADERS))
    except RunError as error:
        return _failure(error)


async def _body(request: Request) -> bytes:
    # A page of another origin can post text without a preflight request, but not JSON.
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != "application/json":
        raise RunError("body", "send JSON with Content-Type: application/json", status=415)
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY_BYTES:
            raise RunError("body", f"the body has more than {MAX_BODY_BYTES:,} bytes", status=413)
    return bytes(body)


def _failure(error: RunError) -> Response:
    return JSONResponse(error.to_json(), status_code=error.status, headers=_HEADERS)

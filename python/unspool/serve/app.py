"""The server as an ASGI application."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from unspool.errors import UnspoolError
from unspool.generation.served_model import ServedModel
from unspool.serve.answer import Answer
from unspool.serve.body import read_body
from unspool.serve.guard import Guard
from unspool.serve.http.api_errors import ApiError, as_api_error, dialect_of, error_response
from unspool.serve.http.ignored import SaidIgnored
from unspool.serve.http.request_ids import RequestIds
from unspool.serve.http.telemetry import TracedRequests
from unspool.serve.middleware import ApiKeys, Measured, ReportedErrors
from unspool.serve.models.stream_adapter import models_by_name
from unspool.serve.openapi import openapi_routes
from unspool.serve.playground import OPEN_PATHS, playground_routes
from unspool.serve.response_routes import key_of, response_routes
from unspool.serve.settings import ServeOptions
from unspool.serve.state import ServerState, state_of
from unspool.serve.status import health_routes, model_routes
from unspool.serve.tokenizing import count_google, tokenizing_routes
from unspool.serve.wires.chat import read_chat_request
from unspool.serve.wires.completions import read_completion_request
from unspool.serve.wires.google import read_google_request
from unspool.serve.wires.messages import read_messages_request

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from unspool.serve.wires.generation_request import GenerationRequest

__all__ = ["create_app"]

_log = logging.getLogger("unspool.serve")

_READERS: dict[str, Callable[[Any], GenerationRequest]] = {
    "/v1/chat/completions": read_chat_request,
    "/v1/completions": read_completion_request,
    "/v1/messages": read_messages_request,
}


def create_app(
    models: Mapping[str, Any] | Callable[[], Mapping[str, Any]],
    options: ServeOptions | None = None,
    *,
    routes: Sequence[BaseRoute] = (),
    on_failure: Callable[[], None] | None = None,
    on_ready: Callable[[], None] | None = None,
) -> Starlette:
    """Create an application that serves these models.

    Args:
        models: Models by the name that clients request: `StreamGenerator`s or other `ServedModel`s. A function that returns them runs in a thread at start-up; /readiness returns
            503 until then.
        options: The server's settings.
        routes: Further routes.
        on_ready: Called when `models` has returned.
        on_failure: Called if `models` raises; its exception is in `app.state.server.failure`.
    """
    options = options or ServeOptions()
    state = ServerState(options)
    if not callable(models):
        state.models = models_by_name(models)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack, anyio.create_task_group() as group:
            if callable(models):
                group.start_soon(_load, state, stack, models, on_failure, on_ready)
            else:
                await _open(state.check_ready(), stack)
            yield
            state.is_stopping = True
            group.cancel_scope.cancel()

    # Further routes come after the API's own, which they cannot replace.
    answers = [Route(path, _endpoint(reader), methods=["POST"]) for path, reader in _READERS.items()]
    answers.append(Route("/v1/responses", _respond, methods=["POST"]))
    api = [*answers, *_google_routes(), *model_routes(), *tokenizing_routes(), *response_routes()]
    # The playground's own paths need no API key, and a further route could have one of them. So with both keys and
    # further routes there is no playground.
    has_page = not (options.api_keys and routes)
    page = playground_routes(has_chat=True, needs_key=bool(options.api_keys)) if has_page else []
    app = Starlette(
        routes=[*api, *health_routes(), *openapi_routes(), *routes, *page],
        middleware=[  # the outermost first
            Middleware(RequestIds),
            Middleware(TracedRequests),
            *_cross_origin(options),
            Middleware(Measured, state=state, paths=[route.path for route in api]),
            Middleware(SaidIgnored, counter=state.metrics.ignored, is_strict=options.strict_requests),
            Middleware(ReportedErrors),
            Middleware(Guard, state=state),
            Middleware(ApiKeys, keys=options.api_keys, open_paths=OPEN_PATHS if has_page else ()),
        ],
        exception_handlers={HTTPException: _report, ApiError: _report},
        lifespan=lifespan,
    )
    app.state.server = state
    return app


def _cross_origin(options: ServeOptions) -> list[Middleware]:
    """Return the CORS middleware for the allowed origins; a browser's preflight needs no key."""
    if not options.allowed_origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=list(options.allowed_origins),
            allow_methods=["*"],
            allow_headers=["*"],
            expose_headers=["x-request-id", "request-id", "retry-after", "x-unspool-ignored"],
        )
    ]


async def _load(
    state: ServerState,
    stack: contextlib.AsyncExitStack,
    models: Callable[[], Mapping[str, Any]],
    on_failure: Callable[[], None] | None,
    on_ready: Callable[[], None] | None,
) -> None:
    try:
        loaded = models_by_name(await anyio.to_thread.run_sync(models, abandon_on_cancel=True))
        await _open(loaded, stack)
        state.models = loaded
    except Exception as error:
        state.failure = error
        is_explained = isinstance(error, UnspoolError)
        _log.error("the models cannot be loaded: %s", error, exc_info=None if is_explained else error)
        if on_failure is not None:
            on_failure()
    else:
        if on_ready is not None:
            on_ready()


async def _open(models: Mapping[str, ServedModel], stack: contextlib.AsyncExitStack) -> None:
    """Enter the lifespans of the models; a mapping that creates its models on access has none."""
    for model in models.values() if type(models) is dict else ():
        await stack.enter_async_context(model.lifespan())


async def _report(request: Request, error: Exception) -> Response:
    """Return the response to an error, Starlette's or ours, in the path's protocol."""
    path = request.url.path
    if isinstance(error, HTTPException):
        messages = {404: f"this server has no path {path}", 405: f"{path} does not accept {request.method}"}
        message = messages.get(error.status_code, error.detail)
        error = ApiError(error.status_code, message, headers=dict(error.headers or {}))
    return error_response(as_api_error(error), dialect_of(path))


def _endpoint(reader: Callable[[Any], GenerationRequest]) -> Callable[[Request], Awaitable[Any]]:
    async def endpoint(request: Request) -> Any:
        return await _answer(request, reader)

    return endpoint


async def _respond(request: Request) -> Any:
    """Read the body, with the stored items that it continues."""
    store = state_of(request).responses
    return await _answer(request, store.reader(key_of(request)), is_slow=store.is_on)


async def _answer(request: Request, reader: Callable[[Any], GenerationRequest], is_slow: bool = False) -> Any:
    state = state_of(request)
    state.check_ready()
    state.limits.check_room()  # reject early, before the body is read
    read = await read_body(request, reader, is_slow=is_slow)
    model = await state.find_model(read.model)
    return Answer(state, read, model, request.scope["unspool.metrics"])


def _google_routes() -> list[Route]:
    """Return the routes of Google's methods, which have the model's name in the path."""

    async def generate(request: Request) -> Any:
        name = request.path_params["name"]
        stream = request.url.path.endswith(":streamGenerateContent")
        sse = request.query_params.get("alt") == "sse"
        return await _answer(request, lambda data: read_google_request(data, name, stream=stream, sse=sse))

    verbs = {"generateContent": generate, "streamGenerateContent": generate, "countTokens": count_google}

    def route(path: str, endpoint: Callable[[Request], Awaitable[Any]]) -> Route:
        async def labelled(request: Request) -> Any:
            # The metrics have the model in a separate label.
            request.scope["unspool.metrics"].endpoint = path.replace(":path", "")
            return await endpoint(request)

        return Route(path, labelled, methods=["POST"])

    return [
        route(f"{prefix}/models/{{name:path}}:{verb}", endpoint)
        for prefix in ("/v1beta", "/v1")
        for verb, endpoint in verbs.items()
    ]

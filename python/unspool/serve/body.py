"""Reads a request's body as JSON, within the server's limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from starlette.requests import Request

from unspool.generation.prompts.load_json import JsonError, load_json
from unspool.serve.http.api_errors import ApiError
from unspool.serve.settings import ServeOptions
from unspool.serve.state import state_of
from unspool.serve.wires.wire import unfit

__all__ = ["read_body"]

_T = TypeVar("_T")

# Longer bodies are parsed in a thread, one at a time: the parsed objects need many times the bytes.
_LONG_BYTES = 64 * 1024

# Fields that may be long lists of token ids, which no template iterates over.
_ID_FIELDS = ("prompt", "tokens")


async def read_body(request: Request, read: Callable[[Any], _T], *, is_slow: bool = False) -> _T:
    """Receive the body, parse it, and return `read` of it.

    Args:
        is_slow: `read` reads more than the body, so it runs in a thread.

    Raises:
        ApiError: 408, the body is late; 413, it is too long; 415, the content type is not JSON; 422, it is not JSON, or
            has lone surrogates. Errors of `read` pass through.
    """
    state = state_of(request)
    _check_type(request)
    raw = await _receive(request, state.options)

    def parse() -> _T:
        data = _load(raw)
        _check_count(data, state.options.max_items)
        if state.recorder is not None:
            request.scope["unspool.body"] = data
        return read(data)

    if is_slow or len(raw) > _LONG_BYTES:
        return await anyio.to_thread.run_sync(parse, limiter=state.parsing)
    return parse()


def _check_type(request: Request) -> None:
    """Require JSON, which a page of another site cannot send without a preflight; reject compressed bodies."""
    content_type = request.headers.get("content-type", "")
    kind = content_type.partition(";")[0].strip().lower()
    if kind != "application/json":
        shown = f"is '{content_type}'" if content_type else "is missing"
        raise ApiError(
            415,
            f"the content type {shown}; send 'Content-Type: application/json'",
            code="unsupported_media_type",
        )
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding != "identity":
        raise ApiError(
            415,
            f"the body is encoded as '{encoding}'; send it as it is, without 'Content-Encoding'",
            code="unsupported_media_type",
            headers={"Accept-Encoding": "identity"},
        )


async def _receive(request: Request, options: ServeOptions) -> bytearray:
    raw = bytearray()
    most, length = options.max_body_bytes, request.headers.get("content-length", "")
    is_long = length.isdecimal() and int(length[:20]) > most
    with anyio.move_on_after(options.read_timeout_s) as reading:
        if not is_long:
            async for chunk in request.stream():
                raw += chunk
                is_long = len(raw) > most
                if is_long:
                    break
    if is_long:
        raise ApiError(
            413, f"the body is longer than {most} bytes; shorten it", code="request_too_large", headers=_CLOSE
        )
    if reading.cancelled_caught:
        raise ApiError(
            408,
            f"the body did not arrive within {options.read_timeout_s:g} s; send it faster",
            code="request_timeout",
            headers=_CLOSE,
        )
    return raw


# Closes the connection, because the rest of the body is not read.
_CLOSE = {"Connection": "close"}


def _load(raw: bytearray) -> Any:
    try:
        return load_json(raw)
    except JsonError as error:
        raise unfit(
            error.place or None, str(error) if error.place else f"the body is not JSON: {error}"
        ) from None
    except ValueError as error:
        raise unfit(None, f"the body is not JSON: {error}") from None


def _check_count(data: Any, most: int) -> None:
    """Raise ApiError 413 if a list, counted with the parts of each message, has more than `most` items."""
    for name, items in data.items() if isinstance(data, dict) else ():
        if not isinstance(items, list) or name in _ID_FIELDS:
            continue
        parts = (item.get("content") or item.get("parts") for item in items if isinstance(item, dict))
        count = len(items) + sum(len(part) for part in parts if isinstance(part, list))
        if count > most:
            raise ApiError(
                413,
                f"'{name}' has {count} items and parts; at most {most} are allowed",
                code="request_too_large",
                param=name,
            )

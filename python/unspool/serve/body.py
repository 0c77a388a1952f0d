"""A request's body as JSON, within a limit."""

from __future__ import annotations

from typing import Any

import anyio.to_thread
from starlette.requests import Request

from unspool.serve.api_errors import ApiError
from unspool.serve.fields import unfit
from unspool.serve.load_json import JsonError, load_json

__all__ = ["read_json"]

# Longer ones are parsed beside the event loop.
_LONG_BYTES = 64 * 1024


async def read_json(request: Request, max_bytes: int) -> Any:
    """The body.

    Raises:
        ApiError: 413, it is too long; 422, it is not JSON, or holds what is no character.
    """
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > max_bytes:
            raise ApiError(413, f"the body is longer than {max_bytes} bytes", code="request_too_large")
    try:
        if len(raw) > _LONG_BYTES:
            return await anyio.to_thread.run_sync(load_json, raw)
        return load_json(raw)
    except JsonError as error:
        raise unfit(
            error.place or None, str(error) if error.place else f"the body is not JSON: {error}"
        ) from None
    except ValueError as error:
        raise unfit(None, f"the body is not JSON: {error}") from None

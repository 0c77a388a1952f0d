"""What a request asks for and changes nothing: it is ignored, and said in a header, the log and a metric."""

from __future__ import annotations

import logging
import re
from contextvars import ContextVar
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unspool.serve.request_ids import current_request_id

if TYPE_CHECKING:
    from prometheus_client import Counter

    from unspool.serve.api_errors import ApiError

__all__ = ["SaidIgnored", "ignore"]

_log = logging.getLogger("unspool.serve")

# Of a request; the names of unknown fields are the client's.
_MOST_FIELDS = 20
_LONGEST_NAME = 60

# The label of each field by its place; None: what is ignored is refused.
_ignored: ContextVar[dict[str, str] | None] = ContextVar("unspool_ignored", default=None)


def ignore(field: str, error: ApiError, label: str = "") -> None:
    """Note that a field changes nothing.

    Args:
        field: Its place in the request, such as "tools[2] (web_search)".
        error: Says why; raised if requests are strict, and outside of the server.
        label: Its name in the metric; "": the field. Only names of ours, since each is a time series.
    """
    fields = _ignored.get()
    if fields is None:
        raise error
    if len(fields) < _MOST_FIELDS:
        fields[quote(field[:_LONGEST_NAME], safe="[](). ")] = label or re.sub(r"\[\d+\]| \(.*", "", field)


class SaidIgnored:
    """Sends `x-unspool-ignored`, logs one line, and counts."""

    def __init__(self, app: ASGIApp, counter: Counter, is_strict: bool) -> None:
        self._app = app
        self._counter = counter
        self._is_strict = is_strict

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        fields: dict[str, str] = {}
        _ignored.set(None if self._is_strict else fields)

        async def watched(message: Message) -> None:
            if fields and message["type"] == "http.response.start":
                MutableHeaders(scope=message)["x-unspool-ignored"] = ", ".join(fields)
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            if fields:
                _log.info("ignored %s request %s", ", ".join(fields), current_request_id.get())
            for label in set(fields.values()):
                self._counter.labels(label).inc()

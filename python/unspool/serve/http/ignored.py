"""Fields that change no answer: they are ignored, and reported in a header, the log and a metric."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unspool.serve.http.request_ids import current_request_id

if TYPE_CHECKING:
    from prometheus_client import Counter

    from unspool.serve.http.api_errors import ApiError

__all__ = ["SaidIgnored", "ignore", "is_noted"]

_log = logging.getLogger("unspool.serve")

# Maximum number and length of fields that a request's report names; the client chooses the unknown names.
_MOST_FIELDS = 20
_LONGEST_NAME = 60

# Each ignored field and its label, by its place without list indices; None: such fields are rejected.
_ignored: ContextVar[dict[str, tuple[str, str]] | None] = ContextVar("unspool_ignored", default=None)


def ignore(field: str, error: ApiError, label: str = "") -> None:
    """Record that a field is ignored.

    Args:
        field: Its place in the request, such as "tools[2] (web_search)". Only the first one of a list is reported.
        error: The reason; raised if requests are strict, and outside the server.
        label: Its name in the metric; "": the field. Must not be a client's name, since each is a time series.
    """
    fields = _ignored.get()
    if fields is None:
        raise error
    if not is_noted(field):
        said = quote(field[:_LONGEST_NAME], safe="[](). ")
        fields[_place(field)] = said, label or re.sub(r"\[\d+\]| \(.*", "", field)


def is_noted(field: str) -> bool:
    """Whether a field need not be recorded: one at the same place is, or the limit of fields is reached."""
    fields = _ignored.get()
    return fields is not None and (len(fields) >= _MOST_FIELDS or _place(field) in fields)


def _place(field: str) -> str:
    return re.sub(r"\[\d+\]", "[]", field[:_LONGEST_NAME])


class SaidIgnored:
    """Reports ignored fields: sends `x-unspool-ignored`, logs one line, and counts them."""

    def __init__(self, app: ASGIApp, counter: Counter, is_strict: bool) -> None:
        self._app = app
        self._counter = counter
        self._is_strict = is_strict

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        fields: dict[str, tuple[str, str]] = {}
        _ignored.set(None if self._is_strict else fields)

        async def watched(message: Message) -> None:
            if fields and message["type"] == "http.response.start":
                MutableHeaders(scope=message)["x-unspool-ignored"] = _listed(fields)
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            if fields:
                _log.info("ignored %s request %s", _listed(fields), current_request_id.get())
            for label in {label for _, label in fields.values()}:
                self._counter.labels(label).inc()


def _listed(fields: Mapping[str, tuple[str, str]]) -> str:
    return ", ".join(said for said, _ in fields.values())

"""`serve --record`: writes each answer to a file, outside the event loop."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from unspool._core import __version__
from unspool.streams.recording.folder import RecordFolder
from unspool.streams.recording.redact import redact

__all__ = ["Recorder", "Recording"]

_log = logging.getLogger("unspool")

# Maximum number of a response's bytes that are recorded.
_MOST_SENT = 256 * 1024
# Maximum number of answers that wait to be written; further ones are not recorded.
_MOST_WAITING = 64


class Recorder:
    """Writes records in a separate thread, one after the other.

    Args:
        path, most_bytes: See `RecordFolder`.
        keeps_texts: Whether to record requests unchanged instead of redacted.

    Raises:
        ArgumentError: The limit is too low, or the folder cannot be written to.
    """

    def __init__(self, path: str, most_bytes: int, keeps_texts: bool = False) -> None:
        self._folder = RecordFolder(path, most_bytes)
        self._redacts = not keeps_texts
        self._thread = ThreadPoolExecutor(1, "unspool-record")
        self._waiting_count = 0
        self._has_failed = False

    def submit(self, id: str, make: Callable[[bool], dict[str, Any]]) -> None:
        """Call `make` in the thread, with whether to redact, and write the record that it returns."""
        if self._waiting_count >= _MOST_WAITING:
            self._report("too many answers wait to be written")
            return
        self._waiting_count += 1
        self._thread.submit(self._write, id, make)

    def close(self) -> None:
        """Wait until all submitted records are written."""
        self._thread.shutdown()

    def _write(self, id: str, make: Callable[[bool], dict[str, Any]]) -> None:
        try:
            self._folder.write(id, make(self._redacts))
            self._has_failed = False
        except Exception as error:  # a failed record must not affect the answer, which has been sent
            self._report(f"{type(error).__name__}: {error}")
        finally:
            self._waiting_count -= 1

    def _report(self, why: str) -> None:
        """Log a failure, unless the previous record failed too."""
        if not self._has_failed:
            _log.warning("an answer is not recorded, and later ones may not be: %s", why)
        self._has_failed = True


class _Recorded(Protocol):
    def recorded(self) -> list[dict[str, Any]]: ...


class Recording:
    """Collects one request and its answer, without headers and without the client's address.

    Args:
        id: The request's id.
        path, body: The path and body that the client sent.
        echo: Names of the request's fields that the response repeats.
        send: The ASGI `send` function.
    """

    def __init__(
        self,
        recorder: Recorder,
        id: str,
        path: str,
        body: Any,
        echo: Collection[str],
        send: Callable[[Any], Awaitable[None]],
    ) -> None:
        self._recorder, self._send = recorder, send
        self._id, self._path, self._body, self._echo = id, path, body, echo
        self._status, self._sent = 0, bytearray()
        #: The generation; None until the model has started.
        self.stream: _Recorded | None = None

    async def send(self, message: Mapping[str, Any]) -> None:
        """Send a message of ASGI, and keep its status and body."""
        await self._send(message)
        self._status = message.get("status", self._status)
        if len(self._sent) < _MOST_SENT:
            self._sent += message.get("body", b"")

    def end(self) -> None:
        """Submit the record, if there was a generation; without one there is nothing to replay."""
        if self.stream is not None:
            self._recorder.submit(self._id, self._record)

    def _record(self, redacts: bool) -> dict[str, Any]:
        assert self.stream is not None
        sent = self._sent[:_MOST_SENT].decode("utf-8", "replace").splitlines()
        return {
            "record": 1,
            "unspool": __version__,
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "path": self._path,
            "request": redact(self._body) if redacts else self._body,
            "answers": self.stream.recorded(),
            "status": self._status,
            "sent": [self._without_echo(line) for line in sent] if redacts and self._echo else sent,
        }

    def _without_echo(self, line: str) -> str:
        """Redact the request's fields that the response repeats, in a line of the response."""
        prefix, brace, rest = line.partition("{")
        if not brace:
            return line
        try:
            data = json.loads(brace + rest)
        except ValueError:  # cut off; the rest may contain repeated fields
            return f"{prefix}[cut off]"
        for holder in (data, data.get("response")):
            if isinstance(holder, dict):
                holder.update({name: redact(holder[name], name) for name in self._echo if name in holder})
        return prefix + json.dumps(data, ensure_ascii=False, separators=(",", ":"))

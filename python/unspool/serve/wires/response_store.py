"""A bounded store in memory for responses, which clients may retrieve or continue."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec

from unspool.serve.http.api_errors import ApiError
from unspool.serve.http.ignored import ignore
from unspool.serve.wires.responses import read_response_request

if TYPE_CHECKING:
    from unspool.serve.wires.generation_request import GenerationRequest

__all__ = ["ResponseStore"]


_NOTHING_KEPT = (
    "this server keeps no responses; send all items in 'input', or start it with --response-store-mb"
)


class _Named(msgspec.Struct):
    id: str


@dataclass(frozen=True, slots=True)
class _Kept:
    items: bytes  # those of the request alone
    body: bytes
    previous: str | None
    time_s: float

    @property
    def size(self) -> int:
        return len(self.items) + len(self.body)


class ResponseStore:
    """The latest responses, each visible only to the API key that created it.

    Using a response makes it and all responses that it continues count as new. The oldest are dropped first.
    """

    def __init__(self, most_mb: float, most_age_s: float) -> None:
        self._most_bytes = int(most_mb * 1024 * 1024)
        self._most_s = most_age_s
        self._kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()  # because long bodies are read in threads

    @property
    def is_on(self) -> bool:
        """Whether responses are kept."""
        return self._most_bytes > 0

    def reader(self, key: str) -> Callable[[Any], GenerationRequest]:
        """Return a function that reads Responses' bodies, which may continue a stored response."""

        def read(data: Any) -> GenerationRequest:
            if not isinstance(data, dict):
                return read_response_request(data)
            previous, is_kept = data.get("previous_response_id"), data.get("store") is not False
            if is_kept and not self.is_on:
                if data.get("store") is not None:
                    ignore("store", ApiError(400, _NOTHING_KEPT, code="unsupported_parameter", param="store"))
                is_kept = False
            whole = {**data, "store": is_kept}
            if isinstance(own := _items_of(data.get("input")), list):
                before = [] if previous is None else self._conversation(key, str(previous))
                whole["input"] = [*before, *(self._resolved(key, item) for item in own)]
            request = read_response_request(whole)
            if not is_kept:
                return request
            items = msgspec.json.encode(own)
            return replace(request, keep=lambda body: self._keep(key, items, previous, body))

        return read

    def _conversation(self, key: str, id: str) -> list[Any]:
        """Return all items from the first request of a conversation to the end of this response."""
        chain: list[_Kept] = []
        last: str | None = id
        while last is not None:
            chain.append(self._find(key, last, "previous_response_id"))
            last = chain[-1].previous
        items: list[Any] = []
        for kept in reversed(chain):
            items += [*msgspec.json.decode(kept.items), *msgspec.json.decode(kept.body)["output"]]
        return items

    def _resolved(self, key: str, item: Any) -> Any:
        """Return an item, or the item that it refers to by an id made of the response's id and the item's place."""
        if not isinstance(item, dict) or item.get("type") != "item_reference":
            return item
        id = str(item.get("id"))
        response = id.partition("_")[2].rpartition("_")[0]
        output = msgspec.json.decode(self._find(key, f"resp_{response}", "input").body)["output"]
        referred = next((entry for entry in output if entry["id"] == id), None)
        if referred is None:
            raise _not_found(f"the response has no item '{id}'", "input")
        return referred

    def _keep(self, key: str, items: bytes, previous: str | None, written: bytes) -> None:
        # A stream's last event holds the response. JSON has no raw line break, so "\ndata: " cannot be inside it.
        data = written.rpartition(b"\ndata: ")[2]
        body = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        raw = bytes(body.get("response", data))
        id = msgspec.json.decode(raw, type=_Named).id
        with self._lock:
            self._kept[key, id] = kept = _Kept(items, raw, previous, time.monotonic())
            self._size += kept.size
            while self._size > self._most_bytes:
                self._size -= self._kept.popitem(last=False)[1].size

    def _find(self, key: str, id: str, param: str | None = None) -> _Kept:
        """Find a response.

        Raises:
            ApiError: 404, the store does not have it; the message says why.
        """
        if not self.is_on:
            raise _not_found(_NOTHING_KEPT, param)
        with self._lock:
            kept = self._kept.get((key, id))
            if kept is not None and time.monotonic() - kept.time_s <= self._most_s:
                self._kept.move_to_end((key, id))
                return kept
        message = (
            f"there is no response '{id}': it was not stored here, was deleted, is older than {self._most_s:g} s, "
            "or had to make room; send all items in 'input'"
        )
        raise _not_found(message, param)

    def get(self, key: str, id: str) -> bytes:
        """Return a response's body."""
        return self._find(key, id).body

    def delete(self, key: str, id: str) -> None:
        """Drop a response. Responses that continue it can no longer be continued."""
        self._find(key, id)
        with self._lock:
            if (kept := self._kept.pop((key, id), None)) is not None:
                self._size -= kept.size

    def input_items(self, key: str, id: str) -> list[Any]:
        """Return the items of a response's own request, each with an id and its text as a part."""
        items: list[Any] = msgspec.json.decode(self._find(key, id).items)
        for index, item in enumerate(items):
            item.setdefault("type", "message")
            item.setdefault("id", f"item_{id.removeprefix('resp_')}_{index}")
            if isinstance(text := item.get("content"), str):
                kind = "output_text" if item.get("role") == "assistant" else "input_text"
                item["content"] = [{"type": kind, "text": text}]
        return items


def _items_of(input: Any) -> Any:
    is_text = isinstance(input, str) and input
    return [{"type": "message", "role": "user", "content": input}] if is_text else input


def _not_found(message: str, param: str | None) -> ApiError:
    return ApiError(404, message, code="response_not_found", param=param)

"""Access to a call's arguments before the call ends."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from unspool._core import ArgumentEvent, ArgumentReader, Delta

__all__ = ["PartialArguments", "to_partial_args"]

Path = tuple[str | int, ...]
_NO_VALUE = object()


class PartialArguments:
    """The arguments of one answer's calls while they stream.

    A final value does not change if the call completes. The call itself can still fail: run it only when its
    arguments as a whole, path `()`, are final.
    """

    def __init__(self) -> None:
        self._reader = ArgumentReader()
        self._calls: dict[int, _Call] = {}

    def put(self, deltas: Delta | Iterable[Delta]) -> list[ArgumentEvent]:
        """Read deltas of one answer, in order, and return the resulting events.

        Raises:
            TypeError: `deltas` holds something other than deltas.
        """
        events = self._reader.put(deltas)
        for event in events:
            self._calls.setdefault(event.call, _Call()).put(event)
        return events

    def value(self, path: Path = (), *, call: int = 0) -> Any:
        """Return the final value at a path of keys and indices.

        Raises:
            KeyError: There is no value at the path, or it is not final yet.
        """
        found = self._calls.get(call, _Call()).final.get(tuple(path), _NO_VALUE)
        if found is _NO_VALUE:
            raise KeyError(f"call {call} has no final value at {path!r} yet")
        return found

    def final(self, call: int = 0) -> dict[str, Any]:
        """Return the arguments that are final. Objects and lists that are still open have their final members."""
        return self._calls[call].tree(False) if call in self._calls else {}

    def shown(self, call: int = 0) -> dict[str, Any]:
        """Return the arguments written so far, including the string that is still open."""
        return self._calls[call].tree(True) if call in self._calls else {}


class _Call:
    """The values of one call, by path."""

    def __init__(self) -> None:
        self.final: dict[Path, Any] = {}
        self._root: Any = _NO_VALUE
        self._containers: dict[Path, Any] = {}
        self._open: tuple[Path, list[str]] | None = None  # the string that is being written

    def put(self, event: ArgumentEvent) -> None:
        path = event.path
        if event.kind in ("object", "array"):
            if event.is_final:
                self.final[path] = self._containers.pop(path)
            else:
                self._begin(path, {} if event.kind == "object" else [])
        elif event.kind == "string":
            if self._open is None:
                self._open = (path, [])
            self._open[1].append(event.text)
            if event.is_final:
                text, self._open = "".join(self._open[1]), None
                self._set(path, text)
        else:
            self._set(path, json.loads(event.text))

    def tree(self, with_open: bool) -> dict[str, Any]:
        if self._root is _NO_VALUE:
            return {}
        root: dict[str, Any] = _copy(self._root)
        if with_open and self._open is not None:
            path, pieces = self._open
            inner: Any = root
            for step in path[:-1]:
                inner = inner[step]
            _add(inner, path[-1], "".join(pieces))
        return root

    def _begin(self, path: Path, container: Any) -> None:
        if path:
            _add(self._containers[path[:-1]], path[-1], container)
        else:
            self._root = container
        self._containers[path] = container

    def _set(self, path: Path, value: Any) -> None:
        self.final[path] = value
        _add(self._containers[path[:-1]], path[-1], value)


def _add(container: Any, step: str | int, value: Any) -> None:
    if isinstance(container, list):
        container.append(value)
    else:
        container[step] = value


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


def to_partial_args(events: Iterable[ArgumentEvent]) -> list[dict[str, Any]]:
    """Convert events to `partialArgs` of Google's Gemini API: one entry per scalar or string fragment.

    That API has no entries for objects and arrays, so empty ones are lost.
    """
    entries = []
    for event in events:
        if event.kind in ("object", "array"):
            continue
        entry: dict[str, Any] = {"jsonPath": event.json_path}
        if event.kind == "string":
            entry |= {"stringValue": event.text, "willContinue": not event.is_final}
        elif event.kind == "null":
            entry["nullValue"] = "NULL_VALUE"
        else:
            entry["boolValue" if event.kind == "boolean" else "numberValue"] = json.loads(event.text)
        entries.append(entry)
    return entries

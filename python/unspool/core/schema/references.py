"""Where the references of a JSON Schema lead: the same rules as csrc/format/schema_document.cpp.

A reference names a place by its pointer ("#/properties/a/anyOf/0"), its anchor ("#name"), or the `$id` of a schema in
the document. References inside a schema with an `$id` begin there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from unspool.core.schema.keywords import DATA, MAPS

__all__ = ["MISSING", "References"]

MISSING = object()
_MAX_ID = 2_000


@dataclass
class _Document:
    """The whole document, or a schema in it that has an `$id`."""

    root: Any
    id: str = ""


class References:
    """The references of one document. The document is walked once, when the first one is followed."""

    def __init__(self, root: Any) -> None:
        self._documents = [_Document(root)]
        self._inside: dict[int, int] = {}
        self._by_id: dict[str, int] = {}
        self._anchors: dict[tuple[int | None, str], Any] = {}
        self._is_walked = False

    def target(self, schema: Mapping[str, Any]) -> Any:
        """Return what the `$ref` of a schema of the document leads to; MISSING if it leads nowhere in the document."""
        if not self._is_walked:
            self._walk()
            self._is_walked = True
        at = self._inside.get(id(schema), 0)
        base, _, fragment = str(schema["$ref"]).partition("#")
        if base:
            index = self._by_id.get(_join(self._documents[at].id, base))
            if index is None:
                return MISSING
            at = index
        fragment = unquote(fragment)
        if not fragment:
            return self._documents[at].root
        if fragment.startswith("/"):
            target = _follow(self._documents[at].root, fragment)
            return _follow(self._documents[0].root, fragment) if target is MISSING else target
        return self._anchors.get((at, fragment), self._anchors.get((None, fragment), MISSING))

    def _walk(self) -> None:
        waiting: list[tuple[Any, int, bool]] = [(self._documents[0].root, 0, False)]
        while waiting:
            value, at, is_map = waiting.pop()
            if isinstance(value, (list, tuple)):
                waiting += [(item, at, False) for item in value]
            if not isinstance(value, Mapping):
                continue
            if not is_map:
                at = self._note(value, at)
            for key, item in value.items():
                if is_map or key not in DATA:
                    waiting.append((item, at, not is_map and key in MAPS))

    def _note(self, schema: Mapping[str, Any], at: int) -> int:
        """Note what a schema says of places; return the document that its references begin in."""
        name = schema.get("$id")
        if isinstance(name, str):
            if name.startswith("#"):
                self._add_anchor(at, name[1:], schema)
            else:
                at = self._begin_document(schema, at, name)
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(schema.get(keyword), str):
                self._add_anchor(at, schema[keyword], schema)
        if at and "$ref" in schema:
            self._inside[id(schema)] = at
        return at

    def _begin_document(self, schema: Mapping[str, Any], at: int, name: str) -> int:
        whole = _join(self._documents[at].id, name.partition("#")[0])
        if len(whole.encode(errors="surrogatepass")) > _MAX_ID:
            return at
        if schema is self._documents[0].root:
            self._documents[0].id = whole
        else:
            at = len(self._documents)
            self._documents.append(_Document(schema, whole))
        self._by_id.setdefault(whole, at)
        return at

    def _add_anchor(self, at: int, name: str, schema: Any) -> None:
        self._anchors.setdefault((at, name), schema)
        self._anchors.setdefault((None, name), schema)


def _join(base: str, name: str) -> str:
    """An id relative to the one around it."""
    scheme, colon, _ = name.partition(":")
    if not base or (colon and "/" not in scheme):
        return name
    authority = base.find("://")
    root = 0 if authority < 0 else base.find("/", authority + 3)
    root = len(base) if root < 0 else root
    if name.startswith("/"):
        return base[:root] + name
    slash = base.rfind("/")
    return (base[: slash + 1] if slash >= root else "") + name


def _follow(node: Any, pointer: str) -> Any:
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping) and key in node:
            node = node[key]
        elif isinstance(node, (list, tuple)) and key.isascii() and key.isdecimal() and len(key) < 10:
            node = node[int(key)] if int(key) < len(node) else MISSING
        else:
            return MISSING
    return node

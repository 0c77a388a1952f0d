"""Writes an answer as a format's model does: its patterns, with the holes filled."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from unspool.format_files import FormatFile

__all__ = ["write_answer"]

Call = tuple[str, dict[str, Any]]

_HOLE = re.compile(r"\$\$\{|\$\{([^}:]*)(?::([^}]*))?\}")
_OBJECT = '{"name": ${name}, "arguments": ${arguments}}'
_JSON_TYPES = {
    str: "string", bool: "boolean", int: "integer", float: "number", dict: "object", list: "array",
    type(None): "null",
}  # fmt: skip


def write_answer(
    file: FormatFile, reasoning: str, content: str, calls: Iterable[Call], style: int = 0
) -> str:
    """The text of reasoning, an answer and calls, in the format's own markers.

    Args:
        style: Which of the file's kinds of call is written, counted from 0 and around.
    """
    return _Writer(file).answer(reasoning, content, list(calls), style)


@dataclass(frozen=True)
class _Pattern:
    """Literal texts with a hole between each two."""

    texts: tuple[str, ...]
    holes: tuple[str, ...]
    options: tuple[frozenset[str], ...]

    @classmethod
    def parse(cls, text: str) -> _Pattern:
        texts, holes, options, begin = [""], [], [], 0
        text = text.replace("\\n", "\n")
        for match in _HOLE.finditer(text):
            texts[-1] += text[begin : match.start()]
            begin = match.end()
            if match.group(1) is None:  # $${ stands for ${
                texts[-1] += "${"
                continue
            holes.append(match.group(1))
            options.append(frozenset(filter(None, (match.group(2) or "").split(","))))
            texts.append("")
        texts[-1] += text[begin:]
        return cls(tuple(texts), tuple(holes), tuple(options))

    def fill(self, **values: str) -> str:
        parts = [self.texts[0]]
        for hole, text in zip(self.holes, self.texts[1:], strict=True):
            parts += [values.get(hole, ""), text]
        return "".join(parts)

    def options_of(self, hole: str) -> frozenset[str]:
        return self.options[self.holes.index(hole)]

    @property
    def is_list(self) -> bool:
        return self.texts[0].rstrip().endswith("[")

    @property
    def has_opener(self) -> bool:
        return bool(self.texts[0].strip(" \n["))


class _Writer:
    """The patterns of one format, without the alternatives that are markup alone."""

    def __init__(self, file: FormatFile) -> None:
        self._patterns = {
            key: [_Pattern.parse(text) for text in texts] for key, texts in file.patterns.items()
        }
        self._turn = self._patterns["turn"][0].texts[0] if "turn" in self._patterns else ""
        self._has_headers = "header" in self._patterns
        calls = self._all("call")
        self._is_python = any("python" in one.options_of("object") for one in calls if "object" in one.holes)

    def answer(self, reasoning: str, content: str, calls: list[Call], style: int) -> str:
        head = self._reasoning(reasoning)
        if content:
            around = self._all("content")
            head += around[0].fill(content=content) if around else content
        if not self._all("call"):
            calls = []
        text = head + (self._calls(calls, self._call_pattern(style, bool(head))) if calls else "")
        return text.removeprefix(self._turn) if self._has_headers else text

    def _all(self, key: str) -> list[_Pattern]:
        return [pattern for pattern in self._patterns.get(key, ()) if pattern.holes]

    def _reasoning(self, text: str) -> str:
        patterns = self._all("reasoning")
        if not patterns:
            return ""
        opener = patterns[0].texts[0]
        is_open = not self._has_headers and (
            not opener.strip() or self._turn.rstrip().endswith(opener.strip())
        )
        if not is_open:
            return patterns[0].fill(reasoning=text) if text else ""
        return patterns[0].fill(reasoning=text).removeprefix(opener)

    def _call_pattern(self, style: int, follows_text: bool) -> _Pattern:
        """One kind of call: kinds differ in their holes, or in having an opener."""
        kinds: dict[Any, _Pattern] = {}
        for pattern in self._all("call"):
            kinds.setdefault((pattern.holes, pattern.has_opener), pattern)
        chosen = list(kinds.values())
        if follows_text and "calls" not in self._patterns:  # a bare call stands alone
            chosen = [pattern for pattern in chosen if pattern.has_opener] or chosen
        return chosen[style % len(chosen)]

    def _calls(self, calls: list[Call], pattern: _Pattern) -> str:
        if "key" in pattern.holes:
            body = self._python_calls(calls, pattern)
        elif "object" in pattern.holes and (pattern.is_list or "..." in pattern.holes):
            separator = pattern.texts[1] if "..." in pattern.holes else ", "
            body = (
                pattern.texts[0]
                + separator.join(map(self._object, calls, range(len(calls))))
                + pattern.texts[-1]
            )
        else:
            body = "".join(self._call(call, index, pattern) for index, call in enumerate(calls))
        section = self._all("calls")
        return section[0].fill(calls=body) if section else body

    def _python_calls(self, calls: list[Call], pattern: _Pattern) -> str:
        first, last = pattern.texts[0], pattern.texts[-1]
        texts = [
            f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
            for name, arguments in calls
        ]
        if pattern.holes.count("...") > 1:  # the second one repeats the call
            return first + pattern.texts[-2].removeprefix(")").join(texts) + last
        return "".join(first + text + last.removeprefix(")") for text in texts)

    def _call(self, call: Call, index: int, pattern: _Pattern) -> str:
        name, arguments = call
        values = {"object": self._object(call, index)} if "object" in pattern.holes else {}
        if "arguments" in pattern.holes:
            is_literal = "string" in self._patterns
            values["arguments"] = self._literal(arguments) if is_literal else _json(arguments)
        if "value" in pattern.holes:  # the tool's only parameter
            value = next(iter(arguments.values()), "")
            values["value"] = value if isinstance(value, str) else _json(value)
        if "parameters" in pattern.holes:
            values["parameters"] = "".join(self._parameter(*item) for item in arguments.items())
        first_index = next((int(n) for n in self._numbers(pattern, "index")), 0)
        return pattern.fill(name=name, id=self._id(name, index), index=str(index + first_index), **values)

    def _object(self, call: Call, index: int) -> str:
        shape = self._all("object")
        pattern = shape[0] if shape else _Pattern.parse(_OBJECT)
        name, arguments = call
        write = repr if self._is_python else _json
        return pattern.fill(name=write(name), arguments=write(arguments), id=write(self._id(name, index)))

    def _id(self, name: str, index: int) -> str:
        shape = self._all("id")
        pattern = shape[0] if shape else _Pattern.parse("call_${random:24}")
        length = next((int(n) for n in self._numbers(pattern, "random")), 24)
        return pattern.fill(name=name, index=str(index), random=f"{index:0{length}}")

    @staticmethod
    def _numbers(pattern: _Pattern, hole: str) -> list[str]:
        return (
            [option for option in pattern.options_of(hole) if option.isdigit()]
            if hole in pattern.holes
            else []
        )

    def _literal(self, value: Any) -> str:
        if isinstance(value, str):
            return self._all("string")[0].fill(value=value)
        if isinstance(value, dict):
            members = (f"{self._bare_key(key)}:{self._literal(item)}" for key, item in value.items())
            return "{" + ",".join(members) + "}"
        if isinstance(value, list):
            return "[" + ",".join(map(self._literal, value)) + "]"
        return _json(value)

    def _bare_key(self, key: str) -> str:
        return key if re.fullmatch(r"[\w.$-]+", key) else self._literal(key)

    def _parameter(self, key: str, value: Any) -> str:
        pattern = self._parameter_pattern(isinstance(value, str))
        if pattern.holes.count("key") == 2:  # <key>..</key>: elements in elements
            return pattern.fill(key=key, value=self._element(value))
        options = pattern.options_of("value")
        is_python = "python" in options and isinstance(value, (dict, list))
        text = value if isinstance(value, str) else repr(value) if is_python else _json(value)
        if "xml" in options:
            text = html.escape(text, quote=False)
        name = html.escape(key) if "xml" in pattern.options_of("key") else key
        return pattern.fill(key=name, value=text, type=_JSON_TYPES[type(value)])

    def _parameter_pattern(self, is_text: bool) -> _Pattern:
        """Alternatives for text and for JSON differ in their options."""
        patterns = self._all("parameter")
        fitting = [
            pattern
            for pattern in patterns
            if "key" in pattern.holes and ("verbatim" in pattern.options_of("value")) == is_text
        ]
        return (fitting or patterns)[0]

    def _element(self, value: Any) -> str:
        if isinstance(value, dict) and _nests(value):
            return "".join(self._parameter(key, item) for key, item in value.items())
        if isinstance(value, list) and _nests(value):
            return "".join(self._parameter("item", item) for item in value)
        return value if isinstance(value, str) else _json(value)


def _nests(value: Any) -> bool:
    """Whether a value is the same when it is read from elements: an empty one looks like empty text."""
    if isinstance(value, dict):
        is_named = all(re.fullmatch(r"[\w.-]+", key) for key in value)
        return bool(value) and is_named and all(map(_nests, value.values()))
    if isinstance(value, list):
        return bool(value) and all(map(_nests, value))
    return bool(value != "")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)

"""Writes calls in one of the format's forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unspool._core import Pattern, Patterns
from unspool.core.format.forms import OBJECT, Form, recipient_of
from unspool.writing.render.answer import AnswerCall
from unspool.writing.render.call_ids import id_of
from unspool.writing.render.parameters import write_parameters
from unspool.writing.render.pieces import Written, as_text, fill, join, without_prefix
from unspool.writing.render.values import json_text, literal

__all__ = ["CallsWriter"]


@dataclass(frozen=True)
class CallsWriter:
    """Writes calls.

    Attributes:
        patterns: The format's patterns.
        form: The form of the calls.
        choice: Which notation to use for each tagged value.
    """

    patterns: Patterns
    form: Form
    choice: int = 0

    def write(self, calls: Sequence[AnswerCall]) -> Written:
        """All calls of an answer, with the markup around them."""
        body = self._body(calls)
        if self.form.section is None:
            return body
        return self._in_message(calls[0].name, fill(self.form.section, {"calls": body}))

    def ids(self, calls: Sequence[AnswerCall]) -> list[str]:
        """The ids that the parser will return; empty texts if this form has none, or has them after the
        arguments.

        A call is announced with its id before its arguments, so the parser ignores an id after them.
        """
        pattern = self._shape if self.form.call.has("object") else self.form.call
        kinds = [hole.kind for hole in pattern.holes]
        is_read = "id" in kinds and not {"arguments", "parameters"} & set(kinds[: kinds.index("id")])
        return [id_of(call, index, self.patterns.id) if is_read else "" for index, call in enumerate(calls)]

    @property
    def _shape(self) -> Pattern:
        return self.patterns.object[0] if self.patterns.object else OBJECT

    def _body(self, calls: Sequence[AnswerCall]) -> Written:
        call, between = self._without_separator()
        repeats = call.count("...")
        if call.has("key"):
            written = [_python_call(call, one) for one in calls]
            separator = call.texts[-2].removeprefix(")")
            repeats -= 1  # the first one repeats an argument
            first, last = call.first, call.last if repeats else call.last.removeprefix(")")
        elif call.has("object"):
            written = [self._object(call, one, index) for index, one in enumerate(calls)]
            place = call.index("object")
            separator, first, last = call.texts[place + 1], "".join(call.texts[: place + 1]), call.last
        else:
            written, repeats = [self._call(call, one, index) for index, one in enumerate(calls)], 0
            separator = first = last = ""
        parts = [join([one], first, "", last) for one in written]
        if repeats:
            parts = [join(written, first, separator, last)]
        if self.form.section is None:
            parts = [self._in_message(one.name, part) for one, part in zip(calls, parts, strict=False)]
        return join(parts, "", between, "")

    def _in_message(self, name: str, written: Written) -> Written:
        """Calls after the header that names the tool, if their message has one."""
        recipient = recipient_of(self.patterns, written[0].text) if written else None
        if not recipient:
            return written
        header = fill(self.patterns.header[0], {"_": as_text(recipient + name)})
        opener = written[0].text  # its line breaks are omitted at the beginning of a message
        return (*header, *without_prefix(written, opener[: len(opener) - len(opener.lstrip("\n"))]))

    def _without_separator(self) -> tuple[Pattern, str]:
        """The call's pattern, and the text between two calls, which an alternative has at its end."""
        call = self.form.call
        alike = [
            one.last
            for one in self.patterns.call
            if (one.texts[:-1], one.holes) == (call.texts[:-1], call.holes)
            and (one.last.startswith(call.last) or call.last.startswith(one.last))
        ]
        last = min(alike, key=len)
        return call.with_last(last), max(alike, key=len)[len(last) :]

    def _call(self, pattern: Pattern, call: AnswerCall, index: int) -> Written:
        values = {
            "name": as_text(call.name),
            "id": as_text(id_of(call, index, self.patterns.id)),
            "index": as_text(str(index + _first_index(pattern))),
        }
        if pattern.has("arguments"):
            strings = self.patterns.string
            values["arguments"] = literal(call.arguments, strings[0]) if strings else as_text(call.text)
        if pattern.has("value"):  # the tool's only parameter
            value = next(iter(call.arguments.values()), "")
            values["value"] = as_text(value if isinstance(value, str) else json_text(value))
        if pattern.has("parameters"):
            values["parameters"] = write_parameters(self.form.parameters, call.arguments, self.choice)
        return fill(pattern, values)

    def _object(self, pattern: Pattern, call: AnswerCall, index: int) -> Written:
        is_python = "python" in pattern.options("object")
        write = repr if is_python else json_text
        arguments = as_text(repr(call.arguments) if is_python else call.text)
        id = as_text(write(id_of(call, index, self.patterns.id)))
        return fill(self._shape, {"name": as_text(write(call.name)), "arguments": arguments, "id": id})


def _python_call(pattern: Pattern, call: AnswerCall) -> Written:
    after_key, between = pattern.after("key"), pattern.after("value")
    members = [
        join([as_text(key), as_text(repr(value))], "", after_key, "") for key, value in call.arguments.items()
    ]
    return (*as_text(call.name), *join(members, pattern.after("name"), between, ")"))


def _first_index(pattern: Pattern) -> int:
    return next((int(option) for option in pattern.options("index") if option.isdigit()), 0)

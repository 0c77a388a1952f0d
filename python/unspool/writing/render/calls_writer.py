"""Writes calls in one of the format's forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unspool._core import Edge, FormShape, Hole, Shape
from unspool.writing.render.call_ids import id_of
from unspool.writing.render.given_answer import AnswerCall
from unspool.writing.render.parameters import write_parameters
from unspool.writing.render.pieces import Written, around, as_text, fill, join, markup, without_breaks
from unspool.writing.render.values import json_text, literal

__all__ = ["CallsWriter"]


@dataclass(frozen=True)
class CallsWriter:
    """Writes calls.

    Attributes:
        shape: The format's shape.
        form: The form of the calls.
        choice: The index of the notation for each tagged value.
    """

    shape: Shape
    form: FormShape
    choice: int = 0

    def write(self, calls: Sequence[AnswerCall]) -> Written:
        """Write all calls of an answer, with the markup around them."""
        call, section = self.form.call, self.form.section
        written = [fill(call.inside, self._values(tool_call, index)) for index, tool_call in enumerate(calls)]
        if call.separator is not None:
            written = [join(written, call.separator)]
        opener, closer = (call.author, call.open, call.list_open), (call.list_close, call.shortest_close)
        parts = [(*markup(*opener), *pieces, *markup(*closer)) for pieces in written]
        if section is None:
            parts = [
                self._in_message(tool_call.name, part) for tool_call, part in zip(calls, parts, strict=False)
            ]
        body = join(parts, Edge(call.joiner))
        return body if section is None else self._in_message(calls[0].name, around(section, body))

    def ids(self, calls: Sequence[AnswerCall]) -> list[str]:
        """Return the ids that the parser will return; empty texts if this form has no ids before the arguments.

        The parser emits a call's id before its arguments, so it ignores an id after them.
        """
        is_read = self.form.call.holds_id
        return [id_of(call, index, self.shape.ids) if is_read else "" for index, call in enumerate(calls)]

    def _in_message(self, name: str, written: Written) -> Written:
        """Put calls after the header that names the tool, if their message has one."""
        header, recipient = self.shape.header, self.form.recipient
        if header is None or not recipient or not written:
            return written
        return (
            *markup(header.open),
            *as_text(recipient + name),
            *markup(header.close),
            *without_breaks(written),
        )

    def _values(self, call: AnswerCall, index: int) -> dict[str, Any]:
        """Return the text for each hole of a call."""
        holes = {item.kind: item for item in self.form.call.inside if isinstance(item, Hole)}
        values: dict[str, Any] = {
            "name": as_text(call.name),
            "id": as_text(id_of(call, index, self.shape.ids)),
        }
        if "object" in holes:
            values["object"] = self._object(call, index, "python" in holes["object"].options)
        if "index" in holes:
            values["index"] = as_text(str(index + (holes["index"].number or 0)))
        if "arguments" in holes:
            quote = self.shape.quote
            values["arguments"] = literal(call.arguments, quote) if quote else as_text(call.text)
        if "value" in holes:  # the tool's only parameter
            value = next(iter(call.arguments.values()), "")
            values["value"] = as_text(value if isinstance(value, str) else json_text(value))
        if "parameters" in holes:
            values["parameters"] = write_parameters(self.form.parameters, call.arguments, self.choice)
        if self.form.call.body == "pythonic":
            members = call.arguments.items()
            values["..."] = [{"key": as_text(key), "value": as_text(repr(value))} for key, value in members]
        return values

    def _object(self, call: AnswerCall, index: int, is_python: bool) -> Written:
        write = repr if is_python else json_text
        arguments = as_text(repr(call.arguments) if is_python else call.text)
        id = as_text(write(id_of(call, index, self.shape.ids)))
        values = {"name": as_text(write(call.name)), "arguments": arguments, "id": id}
        return fill(self.shape.objects[0].items, values)

"""Shows a diagnosis in the terminal, with rich."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unspool.core.needs import needs
from unspool.core.stream.message import ToolCall
from unspool.core.visible import visible
from unspool.streams.tracing.terminal import STYLES, message_table, one_line

with needs("cli"):
    from rich.table import Table
    from rich.text import Text

__all__ = ["diagnosis_parts"]

_AROUND = 60  # characters of the output on each side of a stop
_MOST = 5  # readers
_MOST_NAMES = 6  # formats with the same result


def diagnosis_parts(diagnosis: Any) -> Iterator[Any]:
    """Yield the parts of a `Diagnosis`: what its format parsed, where it stopped, and what parses the output."""
    if diagnosis.format is not None and diagnosis.message is not None:
        name = visible(diagnosis.format.name, "")
        yield Text(f"{name} reads {_count(len(diagnosis.calls))}.", "bold")
        yield message_table(diagnosis.message)
        for call in diagnosis.message.tool_calls:
            yield from _unfit(call, diagnosis.calls)
        for stop in diagnosis.stops:
            yield Text()
            yield from _stop(stop, diagnosis.output)
        if not diagnosis.calls:
            if not diagnosis.stops:
                yield Text(f"\nNothing in the output begins a call of {name}.")
            yield Text(f"\nHow {name} is read:", "bold")
            yield from (Text(f"  {visible(line)}") for line in diagnosis.format.sentences)
    yield Text()
    yield from _readers(diagnosis)
    yield from _advice(diagnosis)


def _unfit(call: ToolCall, fitting: tuple[ToolCall, ...]) -> Iterator[Any]:
    if not call.is_complete or call in fitting:
        return
    try:
        reasons = [f"{item.path or '/'}: {item.message}" for item in call.violations[:_MOST]]
    except ImportError:
        reasons = []
    for reason in reasons or ["no tool has this name"]:
        yield Text(f"{one_line(call.name)}: {one_line(reason)}", STYLES["malformed"])


def _stop(stop: Any, raw: bytes) -> Iterator[Any]:
    line, column = _position(raw, stop.place)
    yield Text.assemble(
        (f"byte {stop.place:,}", "bold"),
        (f" (line {line}, column {column}): ", "dim"),
        (stop.rule, STYLES["malformed"]),
    )
    end = stop.place
    while end < len(raw) and (end == stop.place or raw[end] & 0xC0 == 0x80):  # a whole character
        end += 1

    def part(begin: int, end: int) -> str:
        return one_line(raw[max(begin, 0) : end].decode(errors="replace"), 2 * _AROUND)

    yield Text.assemble(
        "  ", (part(stop.start - _AROUND, stop.start), "dim"), (part(stop.start, stop.place), STYLES["held"]),
        (part(stop.place, end) or "⟨the end⟩", "reverse red"), (part(end, end + _AROUND), "dim"),
        overflow="fold",
    )  # fmt: skip


def _readers(diagnosis: Any) -> Iterator[Any]:
    others = "Other formats" if diagnosis.format else "Formats"
    if not diagnosis.readers:
        yield Text(f"No {'other ' if diagnosis.format else ''}format reads a call.", "bold")
        return
    yield Text(f"{others} that read calls:", "bold")
    table = Table.grid(padding=(0, 2, 0, 0))
    for reader in diagnosis.readers[:_MOST]:
        table.add_row("", _names(reader), _calls(reader))
    yield table
    if len(diagnosis.readers) > _MOST:
        yield Text(f"  … and {sum(len(reader.formats) for reader in diagnosis.readers[_MOST:])} more", "dim")


def _names(reader: Any) -> Any:
    best, *others = (visible(name, "") for name in reader.formats[:_MOST_NAMES])
    rest = len(reader.formats) - _MOST_NAMES
    more = f", {rest} more" if rest > 0 else ""
    return Text.assemble((best, "bold"), *(f", {name}" for name in others), more)


def _calls(reader: Any) -> Any:
    lines = [
        Text.assemble(
            (one_line(call.name), STYLES["name"]), " ", (one_line(call.arguments), STYLES["arguments"])
        )
        for call in reader.calls[:_MOST]
    ]
    rest = len(reader.calls) - _MOST
    return Text("\n").join([*lines, Text(f"… {rest} more calls", "dim")] if rest > 0 else lines)


def _advice(diagnosis: Any) -> Iterator[Any]:
    if diagnosis.calls:
        return
    yield Text()
    for option in diagnosis.options:
        yield Text.assemble(
            "With ",
            (option, "bold"),
            f", {visible(diagnosis.format.name, '') if diagnosis.format else ''} reads a call.",
        )
    if diagnosis.readers:
        best = visible(diagnosis.readers[0].formats[0], "")
        also = f", or also='{best}' beside this format" if diagnosis.format else ""
        yield Text(f"Use the format '{best}'{also}.")
    elif not diagnosis.options:
        yield Text("`unspool detect` and `unspool learn` find a model's format from its chat template.")


def _count(calls: int) -> str:
    return {0: "no call", 1: "one call"}.get(calls, f"{calls:,} calls")


def _position(raw: bytes, place: int) -> tuple[int, int]:
    """The line and the column of a byte, from 1."""
    before = raw[:place].decode(errors="replace")
    return before.count("\n") + 1, len(before) - before.rfind("\n")

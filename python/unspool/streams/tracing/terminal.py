"""Shows a trace in the terminal, with rich: the output in colours, the steps, and the message.

The text comes from a model. It is shown without control characters, so it cannot move the cursor or change colours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from unspool.core.needs import needs
from unspool.core.stream.message import Message, ToolCall
from unspool.core.stream.message_html import PART_KINDS, Row
from unspool.core.visible import shown, visible

with needs("cli"):
    from rich.rule import Rule
    from rich.table import Table
    from rich.text import Text

__all__ = ["STYLES", "message_table", "one_line", "output_text", "trace_parts"]

#: Colours of the terminal's palette, because its theme keeps them readable.
STYLES = {
    "reasoning": "magenta",
    "marker": "bright_black",
    "whitespace": "bright_black",
    "name": "bold cyan",
    "arguments": "green",
    "call": "blue",
    "malformed": "red",
    "held": "yellow",
}
_LEGEND = ("content", "reasoning", "marker", "name", "arguments", "call", "malformed")
_MOST_OUTPUT = 20_000
_MOST_ROWS = 200
_MOST_ITEMS = 20


def trace_parts(trace: Any) -> Iterator[Any]:
    """Yield the output, the steps and the message of a `Trace`, for rich to print."""
    kinds = {kind for kind, _ in trace.regions}
    legend = [(f" {kind} ", STYLES.get(kind, "")) for kind in _LEGEND if kind in kinds]
    yield Rule(f"{visible(trace.format, '')}: {len(trace.steps) - 1:,} pieces", align="left", style="dim")
    yield output_text(trace.regions)
    yield Text.assemble(*legend)
    yield Rule("steps", align="left", style="dim")
    yield _steps(trace.rows)
    yield Rule("message", align="left", style="dim")
    yield message_table(trace.message, [item.sentence for item in trace.deviations])


def output_text(regions: Sequence[tuple[str, str]]) -> Text:
    """Return the output with each part in the colour of its kind."""
    output = Text(overflow="fold")
    room = _MOST_OUTPUT
    for kind, text in regions:
        part = shown(text, max(room, 30))
        room -= len(part)
        is_markup = kind not in ("content", "reasoning")
        output.append(part.replace("\n", "↵\n") if is_markup else part, STYLES.get(kind, ""))
        if room <= 0:
            output.append(" … ", "dim")
            break
    return output


def _steps(rows: Sequence[Row]) -> Any:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", show_edge=False, expand=True)
    table.add_column("read", overflow="fold", ratio=2)
    table.add_column("emitted", overflow="fold", ratio=3)
    table.add_column("held back", overflow="fold", ratio=4)
    for row in rows[:_MOST_ROWS]:
        emitted = Text()
        for kind, text, reason in row.parts:
            if emitted:
                emitted.append("\n")
            emitted.append(f"{kind} ", "dim")
            emitted.append(one_line(text), STYLES.get(PART_KINDS.get(kind, kind), ""))
            emitted.append(f" {visible(reason)}" if reason else "", "red")
        held = Text.assemble(
            (one_line(row.held, 40), STYLES["held"]), "  " if row.held else "", (visible(row.why), "dim")
        )
        table.add_row(Text(one_line(row.piece)), emitted, held)
    if len(rows) > _MOST_ROWS:
        table.add_row(Text(f"… {len(rows) - _MOST_ROWS:,} more", "dim"))
    return table


def message_table(message: Message, deviations: Sequence[str] = ()) -> Any:
    """Build a table of the parts of a message and of what is wrong with it."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    if message.reasoning:
        table.add_row("reasoning", Text(one_line(message.reasoning), STYLES["reasoning"]))
    if message.content:
        table.add_row("content", Text(one_line(message.content)))
    for call in message.tool_calls[:_MOST_ITEMS]:
        table.add_row("call", _call(call))
    if len(message.tool_calls) > _MOST_ITEMS:
        table.add_row("", Text(f"… {len(message.tool_calls) - _MOST_ITEMS:,} more calls", "dim"))
    for label, items in (("malformed", message.malformed), ("dropped", message.dropped)):
        for item in items[:_MOST_ITEMS]:
            table.add_row(label, Text.assemble((one_line(item.text), "red"), f"\n{one_line(item.reason)}"))
    if message.hint:
        table.add_row("hint", Text(one_line(f"{message.hint} would read a call; pass also={message.hint!r}")))
    for sentence in deviations[:_MOST_ITEMS]:
        table.add_row("differs", Text(one_line(sentence), "yellow"))
    table.add_row("finish", Text(str(message.finish_reason)))
    return table


def _call(call: ToolCall) -> Text:
    line = Text.assemble(
        (one_line(call.name), STYLES["name"]), " ", (one_line(call.arguments, 400), STYLES["arguments"]),
        "\n", (call.status, "" if call.is_complete else "bold red"),
    )  # fmt: skip
    if call.repairs:
        line.append(f"  repaired: {', '.join(call.repairs)}", "yellow")
    if call.written_as:
        line.append(f"  written as {visible(call.written_as)}", "yellow")
    return line


def one_line(text: str, most: int = 160) -> str:
    """Return a text as one line of bounded length."""
    return shown(text, most).replace("\n", "↵").replace("\t", "⇥")

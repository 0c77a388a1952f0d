"""HTML for notebooks: of a message, the regions of its output, deltas, and the steps of a parse.

The text comes from a model, so it is escaped, shortened, and written without invisible characters. There is no script.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from unspool.core.visible import shown

__all__ = [
    "COLORS",
    "PART_KINDS",
    "Row",
    "box",
    "delta_part",
    "deltas_html",
    "escape",
    "message_html",
    "regions_html",
    "state_html",
    "steps_html",
    "table",
]

_MOST = 1_000  # characters in one text
_MOST_ITEMS = 10  # calls; also malformed texts
_MOST_REGIONS = 200
_MOST_ROWS = 60

#: Colours of each kind of region: background and text in the light theme, then in the dark one. The playground's style
#: sheet has the same colours.
COLORS: dict[str, tuple[str, str, str, str]] = {
    "reasoning": ("#ece5fb", "#4a2b93", "#32284f", "#cfc0ff"),
    "marker": ("#dfe4e4", "#4b5757", "#323b3b", "#adb9b9"),
    "name": ("#0f5fb8", "#ffffff", "#3f8fe6", "#04121f"),
    "arguments": ("#d5f0e4", "#0b5138", "#143c2d", "#9fe6c8"),
    "call": ("#e2edfa", "#28527f", "#1d3148", "#a9cbf0"),
    "malformed": ("#fde0dd", "#9c1c12", "#4d1f1c", "#ffb4ab"),
    "held": ("#fff0bf", "#6b4a00", "#4a3a08", "#ffe08a"),
}

# JupyterLab and VS Code mark the theme in the page; elsewhere the system's theme applies.
_STYLE = """
.unspool { color-scheme: light dark; max-width: 76em; padding: 8px 12px; border-radius: 8px; overflow: auto;
  border: 1px solid light-dark(#d5dada, #333d3d); background: light-dark(#ffffff, #1b2121);
  color: light-dark(#1c2323, #e4eaea); font: 13px/1.5 system-ui, sans-serif; }
[data-jp-theme-light="true"] .unspool, .vscode-light .unspool { color-scheme: light; }
[data-jp-theme-light="false"] .unspool, .vscode-dark .unspool { color-scheme: dark; }
.unspool table { border: 0; border-collapse: collapse; margin: 4px 0 0; color: inherit; font-size: inherit; }
.unspool tr, .unspool tr:nth-child(even), .unspool tr:hover { background: none; }
.unspool th, .unspool td { border: 0; padding: 2px 14px 2px 0; text-align: left; vertical-align: top; color: inherit;
  max-width: none; white-space: normal; }
.unspool th, .unspool small, .unspool summary { color: light-dark(#5a6666, #9eabab); font-weight: 400; font-size: 12px;
  white-space: nowrap; }
.unspool b { font-weight: 650; }
.unspool code { font: 12.5px/1.5 var(--jp-code-font-family, ui-monospace, monospace); white-space: pre-wrap; overflow-wrap: anywhere;
  color: inherit; background: none; padding: 0; }
.unspool mark { border-radius: 3px; color: inherit; background: none; }
.unspool details { margin-top: 6px; }
.unspool .held { border-bottom: 2px dashed light-dark(#c08a00, #d7a520); }
""" + "".join(
    f".unspool .{kind} {{ padding: 0 2px; background: light-dark({light}, {dark}); color: light-dark({text}, {dark_text}); }}\n"
    for kind, (light, text, dark, dark_text) in COLORS.items()
)


class Row(NamedTuple):
    """One or more steps of a parse.

    Attributes:
        piece: The text that was read.
        parts: (kind, text, reason) for each delta that was emitted.
        held: The text that is held back afterwards.
        why: The reason why it is held back.
    """

    piece: str
    parts: list[tuple[str, str, str]]
    held: str
    why: str


_KINDS = {"whitespace": "marker", "tool_call": "call"}


def escape(text: str, most: int = _MOST) -> str:
    """Prepare a text for HTML: escaped, of bounded length, and without invisible characters."""
    return html.escape(shown(text, most), quote=True)


def box(body: str) -> str:
    """Wrap HTML in the frame, with its style."""
    return f'<div class="unspool"><style>{_STYLE}</style>{body}</div>'


def table(rows: Iterable[tuple[str, str]]) -> str:
    """Build a table of labels and cells; both are HTML."""
    return f"<table>{''.join(f'<tr><th>{label}</th><td>{cell}</td></tr>' for label, cell in rows)}</table>"


def message_html(
    message: Any, more: str = "", format: str = "", notes: Iterable[tuple[str, str]] = ()
) -> str:
    """Show a message: its parts, what is wrong with it, and its output if it has an audit.

    Args:
        message: A `Message`.
        more: HTML to put below it.
        format: The format's name, for the heading.
        notes: Further rows of the table, in HTML.
    """
    rows: list[tuple[str, str]] = []
    if message.reasoning:
        rows.append(("reasoning", _code(message.reasoning, "reasoning")))
    if message.content:
        rows.append(("content", _code(message.content)))
    rows += [
        (f"call {index}", _call(call, message.finish_reason is None))
        for index, call in _first(message.tool_calls, rows, "calls")
    ]
    for label, items in (("malformed", message.malformed), ("dropped", message.dropped)):
        for _, item in _first(items, rows, label):
            rows.append((label, f"{_code(item.text, 'malformed')} <small>{escape(item.reason)}</small>"))
    if message.hint:
        rows.append(("hint", f"<b>{escape(message.hint)}</b> would read a call; pass <code>also=</code>"))
    rows += notes
    if message.audit and not more:
        more = regions_html(message.audit)
    counts = message.token_counts
    head = [
        f"<b>{escape(format) or 'Message'}</b>",
        f"<small>{escape(_end(message))}</small>",
    ]
    if counts.total:
        head.append(f"<small>{counts.total:,} tokens</small>")
    return box(" ".join(head) + table(rows) + more)


def _end(message: Any) -> str:
    return f"finish_reason {message.finish_reason}" if message.finish_reason else "not finished"


def _first(items: Sequence[Any], rows: list[tuple[str, str]], what: str) -> list[tuple[int, Any]]:
    if len(items) > _MOST_ITEMS:
        rows.append((what, f"<small>the first {_MOST_ITEMS} of {len(items):,}</small>"))
    return list(enumerate(items[:_MOST_ITEMS]))


def _call(call: Any, may_go_on: bool) -> str:
    is_open = may_go_on and call.status == "incomplete"
    kind = "arguments" if call.is_complete or is_open else "malformed"
    notes = ["open" if is_open else f'<mark class="{"" if call.is_complete else kind}">{call.status}</mark>']
    if call.repairs:
        notes.append(f"repaired: {escape(', '.join(call.repairs))}")
    if call.written_as:
        notes.append(f"written as {escape(call.written_as)}")
    arguments = _code(_laid_out(call.arguments), kind)
    return f"{_code(call.name, 'name')} {arguments} <small>{' · '.join(notes)}</small>"


def _laid_out(arguments: str) -> str:
    """Put each member of long JSON on a line of its own."""
    if len(arguments) <= 80 or len(arguments) > _MOST:
        return arguments
    try:
        return json.dumps(json.loads(arguments), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments


def _code(text: str, kind: str = "") -> str:
    return f'<code><mark class="{kind}">{escape(text)}</mark></code>'


def regions_html(regions: Sequence[tuple[str, str]], label: str = "output") -> str:
    """Show the output with each part in the colour of its kind, and the kind as its title."""
    marks = "".join(
        f'<mark class="{_KINDS.get(kind, kind)}" title="{kind}">{_with_breaks(kind, text)}</mark>'
        for kind, text in regions[:_MOST_REGIONS]
    )
    rest = len(regions) - _MOST_REGIONS
    more = f"<small> … {rest:,} more regions</small>" if rest > 0 else ""
    return f"<details open><summary>{label}</summary><code>{marks}</code>{more}</details>" if marks else ""


def _with_breaks(kind: str, text: str) -> str:
    """Escape a text; in markup, show the line breaks, since they are part of it."""
    escaped = escape(text, _MOST // 5)
    return escaped.replace("\n", "↵\n") if kind in ("marker", "whitespace", "call") else escaped


def deltas_html(deltas: Sequence[Any]) -> str:
    """Show the first deltas of a list, one per row."""
    parts = (_part(delta_part(delta)) for delta in deltas[:_MOST_ROWS])
    rest = len(deltas) - _MOST_ROWS
    more = f"<small>… {rest:,} more deltas</small>" if rest > 0 else ""
    return box(table((f"{index:,}", part) for index, part in enumerate(parts)) + more)


def delta_part(delta: Any) -> tuple[str, str, str]:
    """Return a delta's kind, its text (else its name, status or finish reason), and its reason."""
    return (
        delta.kind,
        delta.name or delta.text or delta.status or delta.finish_reason or "",
        delta.reason or "",
    )


def steps_html(count: int, rows: Sequence[Row]) -> str:
    """Show the steps of a parse; a row may stand for several steps that only continue a text.

    Args:
        count: The number of steps.
        rows: The rows.
    """
    lines = []
    for row in rows[:_MOST_ROWS]:
        waits = f'<mark class="held">{_line(row.held, 60)}</mark>' if row.held else ""
        parts = "<br>".join(map(_part, row.parts[:_MOST_ITEMS]))
        lines.append((_line(row.piece), f"{parts}</td><td>{waits} <small>{escape(row.why, 200)}</small>"))
    rest = len(rows) - _MOST_ROWS
    more = f"<small>… {rest:,} more rows</small>" if rest > 0 else ""
    heads = "<tr><th>read</th><th>emitted</th><th>held back</th></tr>"
    body = table(lines).replace("<table>", f"<table>{heads}", 1)
    return f"<details><summary>{count:,} steps</summary>{body}{more}</details>"


def state_html(region: str, held: bytes, why: str) -> str:
    """Show a live stream's open region, the text that is held back, and the reason."""
    rows = [("open", escape(region))]
    if held:
        text = _line(held.decode(errors="replace"), 400)
        rows.append(("held back", f'<mark class="held">{text}</mark> <small>{escape(why, 200)}</small>'))
    return table(rows)


#: The kind of region whose colours a kind of delta has, if it is not that of the same name.
PART_KINDS = {"tool_call_begin": "name", "tool_call_arguments": "arguments", "dropped": "malformed"}


def _part(part: tuple[str, str, str]) -> str:
    kind, text, reason = part
    mark = f'<mark class="{PART_KINDS.get(kind, kind)}">{_line(text)}</mark>' if text else ""
    return f"<small>{kind}</small> {mark} <small>{escape(reason, 200)}</small>"


def _line(text: str, most: int = 120) -> str:
    return f"<code>{escape(text, most)}</code>".replace("\n", "↵")

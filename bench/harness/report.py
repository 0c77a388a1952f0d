"""Writes a run as a Markdown table, each section of which begins with a line of column names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

OURS = ("ours_batch", "ours_batch_each", "ours")
WIDTH = 5  # number of columns with figures
LAST = "last ÷ first"
TITLES = {
    "streams": "CPU µs a token; streams at once:",
    "growth": "CPU µs a token; tokens of one answer:",
    "worst": "Worst cases, text to deltas, CPU µs for four characters; length:",
    "threads": "Elapsed µs a token",
    "set-up": "Set-up, CPU µs for a stream",
    "memory": "Memory",
}
GROWS = ("streams", "growth", "worst", "threads")  # last column: ratio of last to first figure
MEMORY_COLUMNS = ["bytes, fresh", "bytes, half-way", "allocations a token"]
LEGEND = """\
In parentheses is the ratio to the first line of the same work. ✗: the answers are wrong, as said below the table. ?: not
compared, since one answer took too long. …: stopped early; the figure is that of the part that ran, which is low where the
cost grows with the length. –: the subject has no such work."""
Row = tuple[str, str, list[str]]


class Section(NamedTuple):
    title: str
    columns: list[str]
    rows: list[Row]


def markdown(results: dict[str, Any], order: list[str]) -> str:
    """Return the report: the measured cases, how to read it, the table, and the wrong answers."""
    peers = results["peers"]
    there = [f"{hello['label']} {hello['version']}".strip() for hello in peers.values() if _is_there(hello)]
    parts = [f"{results['machine']}. {results['minutes']} minutes.", f"Measured: {', '.join(there)}."]
    skipped = {name: hello["why"] for name, hello in peers.items() if not _is_there(hello)}
    parts += [f"Skipped: {name} ({why})." for name, why in {**skipped, **results["missing"]}.items()]
    parts += [LEGEND, table(results, order), *_wrong(results["cells"], peers)]
    return "\n\n".join(parts) + "\n"


def table(results: dict[str, Any], order: list[str]) -> str:
    lines = [_line("work", "subject", []), "|---|---|" + "---:|" * WIDTH]
    for title, columns, rows in _sections(results, order):
        lines.append(_line(f"**{title}**", "", [f"**{column}**" for column in columns]))
        lines += [_line(*row) for row in rows]
    return "\n".join(lines)


def _is_there(hello: dict[str, Any]) -> bool:
    return bool(hello["status"] == "ok")


def _line(work: str, subject: str, texts: list[str]) -> str:
    return "| " + " | ".join([work, subject, *texts, *[""] * (WIDTH - len(texts))]) + " |"


def _sections(results: dict[str, Any], order: list[str]) -> Iterator[Section]:
    for name, title in TITLES.items():
        cells = [cell for cell in results["cells"] if cell["section"] == name]
        if not cells:
            continue
        columns = list(dict.fromkeys(cell["column"] for cell in cells))
        rows = list(_rows(cells, columns, results["peers"], order, is_memory=name == "memory"))
        if name == "memory":
            columns = MEMORY_COLUMNS
        elif name in GROWS and len(columns) > 1:
            columns = [*columns, LAST]
        yield Section(title, columns, rows)
    for name, make in _OTHERS.items():
        if name in results["others"]:
            yield make(results["others"][name])


def _rows(
    cells: list[dict[str, Any]],
    columns: list[str],
    peers: dict[str, Any],
    order: list[str],
    *,
    is_memory: bool,
) -> Iterator[Row]:
    """Yield a row for each work and peer; ratios are relative to the first peer."""
    by = {(cell["row"], cell["peer"], cell["column"]): cell for cell in cells}
    for row in dict.fromkeys(cell["row"] for cell in cells):
        names = [name for name in order if any((row, name, column) in by for column in columns)]
        bases = [by.get((row, names[0], column)) for column in columns]
        for name in names:
            found = [by.get((row, name, column)) for column in columns]
            if is_memory:
                texts = _memory(found[0])
            else:
                pairs = zip(found, bases if name != names[0] else [None] * len(found), strict=True)
                texts = [_cell(one, base) for one, base in pairs]
                texts += [_grown(found)] if cells[0]["section"] in GROWS and len(columns) > 1 else []
            label = str(peers[name].get("label", name))
            yield row if name == names[0] else "", f"**{label}**" if name in OURS else label, texts


def _cell(cell: dict[str, Any] | None, base: dict[str, Any] | None) -> str:
    if cell is None:
        return "–"
    if "us" not in cell:
        return f"failed: {cell.get('why', '')}"
    text = number(cell["us"])
    if base is not None and base.get("us", 0) > 0:
        text += f" ({ratio(cell['us'] / base['us'])}×)"
    return text + {"wrong": " ✗", "unseen": " ?"}.get(cell["status"], "") + (" …" if cell["stopped"] else "")


def _grown(found: list[dict[str, Any] | None]) -> str:
    first, last = found[0], found[-1]
    if first is None or last is None or "us" not in first or "us" not in last:
        return "–"
    if first["stopped"] or last["stopped"]:
        return "…"
    return f"{last['us'] / first['us']:.2f}"


def _memory(cell: dict[str, Any] | None) -> list[str]:
    if cell is None or "fresh" not in cell:
        return [f"failed: {(cell or {}).get('why', '')}"]
    return [f"{cell['fresh']:,.0f}", f"{cell['fed']:,.0f}", f"{cell['allocations']:.2f}"]


def number(value: float) -> str:
    """Format a number with three significant digits."""
    if value >= 100:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 1 else f"{value:.3f}" if value >= 0.01 else f"{value:.4f}"


def ratio(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def _imports(found: dict[str, Any]) -> Section:
    rows: list[Row] = [
        (f"`import {name}`", "", [taken if isinstance(taken, str) else number(taken)])
        for name, taken in found.items()
    ]
    return Section("Import, CPU ms beyond a bare interpreter", ["ms"], rows)


def _masks(found: dict[str, Any]) -> Section:
    title = "Masks of a grammar"
    if "rows" not in found:
        return Section(title, [], [("not measured", "", [found["why"]])])
    columns = ["make", "compile", "a mask, mean", "p95"]
    return Section(title, columns, [(row[0], "", row[1:]) for row in found["rows"]])


def _instructions(found: dict[str, Any]) -> Section:
    title = f"Instructions a token, callgrind ({found['how']}; {found['compiler']})"
    figures = found["figures"].items()
    return Section(title, ["instructions"], [(name, "**unspool**", [f"{n:,.0f}"]) for name, n in figures])


_OTHERS = {"import": _imports, "masks": _masks, "instructions": _instructions}


def _wrong(cells: list[dict[str, Any]], peers: dict[str, Any]) -> list[str]:
    """Return a line for each peer and work with wrong answers."""
    found: dict[tuple[str, str], list[str]] = {}
    for cell in cells:
        if cell["status"] == "wrong":
            whys = found.setdefault((peers[cell["peer"]]["label"], cell["row"]), [])
            whys += [cell["why"]] if cell["why"] not in whys else []
    if not found:
        return []
    lines = [f"- {label}, {row}: {'; '.join(whys)}" for (label, row), whys in found.items()]
    return ["✗ Wrong answers, of one stream a kind of input:", "\n".join(lines)]

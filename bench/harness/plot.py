"""Plots a run: µs per token by number of streams and by length, on logarithmic axes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

# Okabe and Ito's colours, each with its own marker for readers who cannot distinguish colours.
STYLES = {
    "ours_batch": ("#000000", "o", 2.6),
    "ours": ("#D55E00", "o", 2.6),
    "empty_call": ("#999999", "x", 1.0),
    "decode_stream": ("#0072B2", "s", 1.4),
    "fastokens_stream": ("#56B4E9", "v", 1.4),
    "two_decodes": ("#999999", "D", 1.4),
    "text_streamer": ("#CC79A7", "P", 1.4),
    "vllm_parsers": ("#009E73", "^", 1.6),
    "sglang_parsers": ("#CC79A7", "X", 1.6),
    "lmdeploy_parsers": ("#0072B2", "s", 1.6),
    "harmony": ("#56B4E9", "v", 1.6),
    "recipe": ("#E69F00", "D", 1.6),
}
PANELS = (
    ("streams", "detokenize, deepseek", "streams at once"),
    ("streams", "ids to deltas, hermes", "streams at once"),
    ("streams", "ids to SSE, hermes", "streams at once"),
    ("growth", "ids to deltas, hermes", "tokens of one answer"),
    ("growth", "ids to deltas, deepseek_v4", "tokens of one answer"),
    ("growth", "ids to deltas, openai", "tokens of one answer"),
)


def plot(results: dict[str, Any], path: Path, order: list[str]) -> None:
    """Write six panels with a common scale as an SVG; prints a note if matplotlib is not installed."""
    try:
        import matplotlib

        matplotlib.use("svg")
        from matplotlib import pyplot
    except ImportError:
        print("no plot: matplotlib is not installed", file=sys.stderr)
        return
    matplotlib.rcParams.update({"svg.hashsalt": "unspool", "svg.fonttype": "none"})
    figure, axes = pyplot.subplots(2, 3, figsize=(12, 7.6), sharey=True, facecolor="white")
    lines: dict[str, Any] = {}
    for axis, (section, row, unit) in zip(axes.flat, PANELS, strict=True):
        cells = [cell for cell in results["cells"] if (cell["section"], cell["row"]) == (section, row)]
        for peer in [name for name in order if name in STYLES]:
            points = [cell for cell in cells if cell["peer"] == peer and cell.get("us", 0) > 0]
            if points:
                lines[results["peers"][peer]["label"]] = _line(axis, peer, points)
        _frame(axis, row, unit)
    for axis in axes[:, 0]:
        axis.set_ylabel("CPU µs a token")
    figure.legend(lines.values(), lines.keys(), loc="lower center", ncols=4, frameon=False, fontsize=10)
    figure.suptitle("CPU time a token, lower is better; hollow: stopped early, and shown as far as it came")
    figure.tight_layout(rect=(0, 0.1, 1, 1))
    figure.savefig(path, metadata={"Date": None})


def _line(axis: Any, peer: str, points: list[dict[str, Any]]) -> Any:
    colour, marker, width = STYLES[peer]
    xs = [int(cell["column"].replace(",", "")) for cell in points]
    ys = [cell["us"] for cell in points]
    (line,) = axis.loglog(xs, ys, color=colour, marker=marker, linewidth=width, markersize=6)
    stopped = [(x, y) for x, y, cell in zip(xs, ys, points, strict=True) if cell["stopped"]]
    if stopped:
        hollow = list(zip(*stopped, strict=True))
        axis.loglog(*hollow, color=colour, marker=marker, markerfacecolor="white", linestyle="", markersize=6)
    return line


def _frame(axis: Any, title: str, unit: str) -> None:
    axis.set_title(title, fontsize=11)
    axis.set_xlabel(unit)
    axis.grid(visible=True, which="major", color="#dddddd", linewidth=0.8)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    ticks = sorted({int(x) for line in axis.lines for x in line.get_xdata()})
    axis.set_xticks(ticks, [f"{tick:,}" if tick % 1000 else f"{tick // 1000}k" for tick in ticks])
    axis.xaxis.set_minor_locator(_no_ticks())


def _no_ticks() -> Any:
    from matplotlib.ticker import NullLocator

    return NullLocator()

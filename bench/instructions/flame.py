"""Draws where a workload's instructions go, as a flame graph: a box's width is its share.

python bench/instructions/flame.py PATH/unspool_workloads content_prose docs/step-flame.svg
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import real_text

FORMATS = Path(__file__).parents[2] / "parsers"
ROOT = "measured"  # the function that callgrind counts in
DEPTH = 24  # of callers that callgrind keeps apart
WIDTH, ROW, LETTER = 1200, 18, 6.6  # pixels
SMALLEST = 0.004  # share of a box that is drawn


@dataclass
class Frame:
    """A function as it is called from one place: what it takes itself, and what it calls."""

    own: int = 0
    calls: dict[str, Frame] = field(default_factory=dict)

    def total(self) -> int:
        return self.own + sum(frame.total() for frame in self.calls.values())


def costs(program: Path, workload: str) -> Iterator[tuple[list[str], int]]:
    """Callgrind's lines: the functions from `ROOT` on, and the instructions of the last one."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        command = [
            "valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", f"--toggle-collect={ROOT}",
            f"--separate-callers={DEPTH}", "--compress-strings=no", str(program), str(FORMATS), workload,
        ]  # fmt: skip
        if workload in real_text.WORKLOADS:
            real_text.prepare(Path(folder))
            command.append(folder)
        subprocess.run(command, capture_output=True, check=True)
        stack: list[str] = []
        is_call = False
        for line in out.read_text().splitlines():
            if line.startswith("fn="):
                stack = stack_of(line.removeprefix("fn="))
            elif line.startswith("calls="):
                is_call = True  # the next line has what the call took
            elif found := re.match(r"[+*-]?\d* (\d+)$", line):
                if not is_call and stack:
                    yield stack, int(found[1])
                is_call = False


def stack_of(name: str) -> list[str]:
    """Callgrind writes the last function first: `f'its caller'its caller's`."""
    functions = [part for part in name.split("'") if not part.isdigit()]  # a number tells of recursion
    if ROOT not in functions:
        return []
    return [short(function) for function in reversed(functions[: functions.index(ROOT)])]


def short(function: str) -> str:
    """`Class::function` of a whole signature."""
    if "std::_Function_handler" in function or "std::function" in function:
        return "std::function"
    bare = function.replace("(anonymous namespace)::", "").replace("unspool::", "")
    while (plain := re.sub(r"<[^<>]*>", "", bare)) != bare:
        bare = plain
    return bare.partition("(")[0].split()[-1]


def tree(program: Path, workload: str) -> Frame:
    root = Frame()
    for stack, cost in costs(program, workload):
        frame = root
        for function in stack:
            frame = frame.calls.setdefault(function, Frame())
        frame.own += cost
    return root


def boxes(name: str, frame: Frame, x: float, depth: int, scale: float) -> Iterator[str]:
    """The box of a frame, and above it those of what it calls, the widest first."""
    total = frame.total()
    width = total * scale
    if width < SMALLEST * WIDTH:
        return
    share = width / WIDTH
    color = f"hsl({18 + sum(name.encode()) % 34}, 85%, {62 + sum(name.encode()) % 12}%)"
    letters = int((width - 6) / LETTER)
    last = name.rpartition("::")[2]
    label = next((text for text in (name, last) if len(text) <= letters), "")
    y = depth * ROW
    yield (
        f"<g><title>{escape(name)}: {share:.1%}</title>"
        f'<rect x="{x:.1f}" y="{y}" width="{width - 0.6:.1f}" height="{ROW - 1}" fill="{color}"/>'
        + (f'<text x="{x + 3:.1f}" y="{y + 13}">{escape(label)}</text>' if label else "")
        + "</g>"
    )
    for called, inner in sorted(frame.calls.items(), key=lambda item: -item[1].total()):
        yield from boxes(called, inner, x, depth + 1, scale)
        x += inner.total() * scale


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path)
    parser.add_argument("workload")
    parser.add_argument("svg", type=Path)
    given = parser.parse_args()
    root = tree(given.program, given.workload)
    drawn = list(boxes(given.workload, root, 0, 0, WIDTH / root.total()))
    height = ROW + max(int(y) for y in re.findall(r'<rect[^>]* y="(\d+)"', "".join(drawn)))
    given.svg.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="monospace" font-size="11">\n' + "\n".join(drawn) + "\n</svg>\n"
    )


if __name__ == "__main__":
    main()

"""Writes the examples of docs/wire-shapes.md from what WireWriter gives: python docs/make_wire_shapes.py."""

from __future__ import annotations

import re
from pathlib import Path

from unspool import Parser, WireWriter

PAGE = Path(__file__).with_name("wire-shapes.md")
OUTPUT = (
    "<think>Paris, then.</think>Let me look."
    '<tool_call>{"name": "get_weather", "arguments": {"city": "Paris"}}</tool_call>'
)


def example(protocol: str) -> str:
    """The stream of one answer, cut into four writes."""
    parser = Parser("qwen3", id_seed=1)
    writer = WireWriter(
        protocol, model="qwen3", id="resp_1", created=1800000000, include_usage=True, prompt_token_count=25
    )
    wire = writer.begin()
    for begin, end in ((0, 27), (27, 39), (39, 90), (90, len(OUTPUT))):
        wire += writer.write(parser.parse_chunk(OUTPUT[begin:end]))
    wire += writer.write(parser.finish().deltas)
    return (wire + writer.end({"completion_tokens": 30})).decode()


def make() -> str:
    """The page, with each block that names a protocol made anew."""

    def block(match: re.Match[str]) -> str:
        return f'```text title="{match[1]}"\n{example(match[1]).rstrip()}\n```'

    return re.sub(r'```text title="(\w+)"\n.*?```', block, PAGE.read_text(encoding="utf-8"), flags=re.S)


if __name__ == "__main__":
    PAGE.write_text(make(), encoding="utf-8")

"""Writes seeds for the fuzz targets, from parsers/ and tests/formats/: make_seeds.py SOURCE TARGET."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import tomllib

HOLE = re.compile(r"\$\{[^}]*\}")
TOKEN = re.compile(r"<[^<>\s]+>|\[/?[A-Z_]+\]")


def read_formats(source: Path) -> list[dict[str, Any]]:
    """Each format's name, its file, the texts between its holes, and which of them are tokens."""
    formats = []
    for path in sorted((source / "parsers").glob("*.toml")):
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
        patterns = [
            data[key] for key in ("reasoning", "content", "calls", "call", "parameter", "end") if key in data
        ]
        literals = (one for value in patterns for one in (value if isinstance(value, list) else [value]))
        parts = {part.strip() for literal in literals for part in HOLE.split(literal)}
        tokens = {token for part in parts for token in TOKEN.findall(part)}
        markers = (parts | tokens | {line for part in parts for line in part.splitlines()}) - {""}
        formats.append(
            {"name": data["name"], "file": text, "markers": sorted(markers), "tokens": sorted(tokens)}
        )
    return formats


def write(folder: Path, seeds: list[bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds):
        (folder / f"{number:05}").write_bytes(seed)


def parser_seeds(source: Path, formats: list[dict[str, Any]]) -> list[bytes]:
    """Each case once, with other options and other cuts than its neighbours."""
    names = [entry["name"] for entry in formats]
    seeds = []
    for path in sorted((source / "tests/formats").glob("*.toml")):
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        if data.get("format") not in names:
            continue
        index = names.index(data["format"])
        for number, case in enumerate(data["case"]):
            if not isinstance(case.get("input"), str):
                continue
            header = bytes(
                [
                    *(
                        index % 256,
                        index // 256,
                        number * 37 % 256,
                        number * 5 % 256,
                        number % 16,
                        number % 3,
                    ),
                    number * 29 % 256 if number % 3 else 0,  # tools
                    number * 43 % 128 if number % 4 == 3 else 0,  # limits
                ]
            )
            seeds.append(header + case["input"].encode())
    return seeds


def snapshot_seeds(seeds: list[bytes], formats: int) -> list[bytes]:
    """The same outputs, and those of templates: some whole, some whose snapshot changes in a few places."""
    made = []
    for index in range(formats, formats + len(TEMPLATES)):
        head = bytes([index % 256, index // 256, *(0,) * 6])
        seeds = [*seeds, *(head + output.encode() for output in OUTPUTS for _ in range(6))]
    for number, seed in enumerate(seeds):
        changes = bytes(number * 7919 * (i + 1) % 256 for i in range(3 * (number % 4)))
        header = [seed[2], number % 256, number * 53 % 256, seed[6], number % 4]
        made.append(seed[:2] + bytes(header) + changes + seed[8:])
    return made


def file_seeds(formats: list[dict[str, Any]]) -> list[bytes]:
    tools = [
        {
            "name": "f",
            "parameters": {
                "properties": {"a": {"$ref": "#/$defs/b"}, "c": {"anyOf": [{"type": "null"}, {"enum": [1]}]}},
                "$defs": {"b": {"type": ["string", "integer"], "nullable": True, "items": {"const": 1}}},
            },
        },
        {"function": {"name": "g", "input_schema": '{"properties": {}}'}},
    ]
    vocabulary = b"unspoolV" + bytes(
        [
            *[1, 0, 0, 0, 12, 0, 0, 0],  # version, flags
            *[1, 0, 0, 0, 32, 1, 0, 0, 0, 0, 0, 0, 0],  # a space is stripped from the beginning
            *[2, 0, 0, 0, 1, 1, 0, 0, 0, 97, 7, 3, 0, 0, 0, 60, 120, 62],  # "a", "<x>"
            *[1, 0, 0, 0, 1, 0, 0, 0, 1, 3, 0, 0, 0, 60, 120, 62, 3, 0, 0, 0, 60, 120, 62],
        ]
    )
    chains = [
        bytes([3, *steps]) + b"ab\0<0x41>\0\xe2\x96\x81a\0##b\0"
        for steps in ([0], [1, 2, 3], [5, 4], [6], [7])
    ]
    return [
        *(b"\0" + entry["file"].encode() for entry in formats),
        b"\1" + vocabulary,
        b"\2" + json.dumps(tools).encode(),
        *chains,
    ]


TEMPLATES = [
    r"""{"start_anchor": "<a>", "fields": {
      "thinking": {"open_pattern": "^(?:<think>\\n?|(?=[\\s\\S]*?</think>))", "close": "</think>"},
      "tool_calls": {"open_pattern": "\\s*<call>", "close": "</call>", "repeats": true,
        "content": "json", "transform": {"function": "{content}"}},
      "content": {"close_pattern": "\\s*<end>|$"}}}""",
    r"""{"start_anchor": "<a>", "defaults": {"content": "-"}, "fields": {
      "reasoning": {"open": ["<think>", "<think>\n"], "close": "</think>", "repeats": true, "join": "+"},
      "note": {"open_pattern": "\\[(?!\\()", "close_pattern": "\\](?=[a\\s]|$)", "content": "kv-lines"},
      "tool_calls": {"open_pattern": "<call:(?P<name>\\w+)>", "close_pattern": "</call>(?:<end>)?\\s*",
        "content": "xml-inline", "content_args": {"tag_pattern": "<(?P<key>\\w)>(?P<value>.*?)(?=<|$)",
          "value_parser": {"name": "json", "args": {"allow_non_json": true}}},
        "transform": {"name": "{name}", "arguments": "{content}"}}}}""",
    r"""{"start_anchor_pattern": "<a>\\s*", "fields": {
      "content": {"content": "text", "content_args": {"strip": false}},
      "tool_calls": {"open_pattern": "<call:(?P<name>\\w+)>", "close": "</call>", "content": "json",
        "content_args": {"unquoted_keys": true,
          "string_delims": [["'", "'"], ["<|", "|>"], ["\"\"\"", "\"\"\""]]},
        "transform": {"function": {"name": "{name}", "arguments": "{content.a}"}}}}}""",
]
OUTPUTS = [
    "<think>a</think><call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</call><end>",
    "<think>\nb<think>c</think>[k:v\n]a<call:f><a>1<b>null</call><end> ",
    "x<call:f>{a: {\"b\": <|x|>, 'c': \"\"\"y\"\"\"}}</call>y",
]  # fmt: skip
PATTERNS = [
    r"^(?:<think>\n?|(?=[\s\S]*?</think>))", r"\[(?!\()", r"\](?=[a\s]|$)", r"<call:(?P<name>\w+)>",
    r"<(?P<key>\w)>(?P<value>.*?)(?=<|$)", r"(?:a|ab)(?:c|bcd)(d*)", r"a{2,3}?\b", r"[^a-c\d]+?\Z", r"\Aa*$",
]  # fmt: skip


def main(source: Path, target: Path) -> None:
    formats = read_formats(source)
    seeds = parser_seeds(source, formats)
    write(target / "parser", seeds)
    write(target / "snapshot", snapshot_seeds(seeds, len(formats)))
    write(target / "files", file_seeds(formats))
    pairs = [(template, output) for template in TEMPLATES for output in OUTPUTS]
    write(target / "template", [f"{one}\0{n}<a>\0{output}".encode() for n, (one, output) in enumerate(pairs)])
    write(target / "pattern", [f"\3{pattern}\0{text}".encode() for pattern in PATTERNS for text in OUTPUTS])
    write(
        target / "wire", [bytes([protocol, n]) + bytes(range(64)) for protocol in range(5) for n in range(4)]
    )
    texts = {marker for entry in formats for marker in entry["markers"]}
    texts |= {f'"{key}"' for key in ("type", "$ref", "anyOf", "properties", "open", "close", "fields")}
    escaped = ("".join(f"\\x{byte:02x}" for byte in text.encode()) for text in sorted(texts))
    (target / "dictionary").write_text("".join(f'"{text}"\n' for text in escaped))
    (target / "templates.json").write_text(json.dumps([json.loads(one) for one in TEMPLATES]))
    # Written last, because the build treats it as the sign that all are written.
    (target / "formats.json").write_text(json.dumps(formats))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

"""Large schemas: each is read, or refused with an ArgumentError, in a process with an ordinary stack.

python tests/writing/grammar/large_schemas.py PATH LINE…     prints a JSON line for each schema, before and after it is compiled

PATH is `json` for `json_grammar`, `FORMAT` for a required call of a format's, `FORMAT/answer` for a response's schema in
it. LINE is `KIND COUNT`.
"""

from __future__ import annotations

import gc
import json
import random
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import unspool
from llguidance import LLMatcher, LLParserLimits
from unspool.errors import ArgumentError
from unspool.writing.engines.matcher import GrammarMatcher
from unspool.writing.engines.token_trie import token_trie
from unspool.writing.grammar.json_answer import json_grammar

STRING = {"type": "string"}


def _object(names: list[str], **further: Any) -> dict[str, Any]:
    properties = dict.fromkeys(names, STRING)
    return {"type": "object", "properties": properties, "additionalProperties": False, **further}


def _chain(count: int) -> dict[str, Any]:
    definitions = {
        f"d{i}": {"type": "object", "properties": {"a": {"$ref": f"#/$defs/d{i + 1}"}}} for i in range(count)
    }
    return {
        "type": "object",
        "properties": {"b": {"$ref": "#/$defs/d0"}},
        "$defs": {**definitions, f"d{count}": STRING},
    }


def _nested(count: int) -> dict[str, Any]:
    schema: dict[str, Any] = STRING
    for _ in range(count):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


KINDS: dict[str, Callable[[int], dict[str, Any]]] = {
    "required": lambda n: _object([f"k{i}" for i in range(n)], required=[f"k{i}" for i in range(n)]),
    "optional": lambda n: _object([f"k{i}" for i in range(n)]),
    "mixed": lambda n: _object([f"k{i}" for i in range(n)], required=[f"k{i}" for i in range(0, n, 2)]),
    "open": lambda n: _object([f"k{i}" for i in range(n)], additionalProperties=STRING),
    "const": lambda n: {"const": {f"k{i}": i for i in range(n)}},
    "enum": lambda n: {"enum": [f"value {i}" for i in range(n)]},
    "objects": lambda n: {"anyOf": [_object([f"k{i}"], required=[f"k{i}"]) for i in range(n)]},
    "places": lambda n: {"type": "array", "prefixItems": [{"const": i} for i in range(n)]},
    "needed places": lambda n: {"type": "array", "prefixItems": [{"const": i} for i in range(n)], "minItems": n},
    "chain": _chain,
    "nested": _nested,
    "long name": lambda n: _object(["x" * n]),
    "long value": lambda n: {"enum": ["x" * n]},
}  # fmt: skip


def grammar(path: str, schema: dict[str, Any], vocabulary: Any) -> str:
    """The grammar of a schema in Lark."""
    if path == "json":
        return json_grammar(schema).text
    name, _, is_answer = path.partition("/")
    file = unspool.get_format(name)
    if is_answer:
        return file.grammar([], tool_choice="none", response_schema=schema, tokenizer=vocabulary).text
    if schema.get("type") != "object":
        schema = {"type": "object", "properties": {"v": schema}, "required": ["v"]}
    tools = [{"name": "f", "parameters": schema}]
    return file.grammar(tools, tool_choice="required", strict=True, tokenizer=vocabulary).text


def walk(matcher: GrammarMatcher, steps: int) -> None:
    """Write an answer, so that an error that comes later shows."""
    rng = random.Random(1)
    bitmask = np.zeros((1, 9), np.int32)
    for _ in range(steps):
        if matcher.is_accepting:
            return
        matcher.fill(bitmask)
        ids = np.flatnonzero(np.unpackbits(bitmask.view(np.uint8), bitorder="little")).tolist()
        id = rng.choice([id for id in ids if chr(id) in '",:}]><k0123456789\n'] or ids)
        matcher.take(id)


def peak_mib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def resident_mib() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() // 2**20


def main() -> None:
    path, *lines = sys.argv[1:]
    vocabulary = unspool.Vocabulary(
        {bytes([byte]): byte for byte in range(256)}, [(256, "<end>", "<end>", False)], is_bytes=True
    )
    trie = token_trie(vocabulary)
    grammar(path, KINDS["enum"](3), vocabulary)  # what is computed once
    for line in lines:
        kind, _, count = line.rpartition(" ")
        gc.collect()
        print(json.dumps({"line": line, "resident": resident_mib(), "peak": peak_mib()}), flush=True)
        refusal = ""
        try:
            text = grammar(path, KINDS[kind](int(count)), vocabulary)
            # On this thread's own stack, as an engine does.
            LLMatcher(
                trie, text, log_level=0, limits=LLParserLimits(max_items_in_row=40_000)
            ).compute_bitmask()
            walk(GrammarMatcher(text, vocabulary, end_ids=[256]), 600)
        except ArgumentError as error:
            refusal = str(error)
        print(json.dumps({"line": line, "refusal": refusal, "peak": peak_mib()}), flush=True)
    gc.collect()
    print(json.dumps({"line": "end", "resident": resident_mib()}))


if __name__ == "__main__":
    main()

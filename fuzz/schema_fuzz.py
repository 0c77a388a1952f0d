"""Schemas at random, their grammars, and two engines that compile them, in a process that may end.

python fuzz/schema_fuzz.py --seed 1 --count 1000    these; --seconds N for so long
python fuzz/schema_fuzz.py --only SEED              one of them, in this process

A schema gives a grammar or an ArgumentError. A grammar that is given is compiled by llguidance and by xgrammar, on an
ordinary stack; each engine writes an answer at random, which `jsonschema` accepts unless `Grammar.dropped` says what was
left out. An answer in a format's calls is read again. A find is written to build/fuzz/found, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import jsonschema
import numpy as np
import unspool
import xgrammar
from unspool.errors import ArgumentError
from unspool.writing.grammar.json_answer import json_grammar

from fuzz.schema_kinds import draw_schema
from tests.writing.grammar.law import faults
from tests.writing.grammar.matchers import xgrammar_compiler

FOUND = Path(__file__).parents[1] / "build" / "fuzz" / "found"
FORMATS = ["hermes", "qwen3_coder", "glm47", "deepseek_v32", "gemma4", "pythonic", "minimax_m3"]
END = 256
STACK = 8 * 2**20  # what a thread often has
MOST_S = 30.0  # of CPU time, for one schema: a hang, as libFuzzer's -timeout
MOST_MIB = 600
SHARE = 50
#: What means nothing in draft 2020-12, or leads elsewhere.
OLDER = {"nullable", "additionalItems", "dependencies", "$id", "id"}


class Find(AssertionError):
    """What must not be."""


def try_schema(seed: int, counts: Counter[str]) -> None:
    """Make, compile and walk the grammars of one schema.

    Raises:
        Find: Something does not hold.
    """
    rng = random.Random(seed)
    schema = draw_schema(rng)
    try:
        grammar = json_grammar(schema)
        _check_answer(_walk_llguidance(grammar.text, rng), schema, grammar.dropped, "llguidance", counts)
    except ArgumentError:
        counts["refused"] += 1
    try:
        grammar = json_grammar(schema, syntax="structural_tag")
        _check_answer(_walk_xgrammar(grammar.text, rng), schema, grammar.dropped, "xgrammar", counts)
    except ArgumentError:
        counts["refused for xgrammar"] += 1
    file = unspool.get_format(rng.choice(FORMATS))
    tools = [{"name": "f", "parameters": schema}]
    try:
        grammar = file.grammar(tools, tool_choice="required", parallel=False, strict=True)
        text = _walk_llguidance(grammar.text, rng)
    except ArgumentError:
        counts["refused as a tool"] += 1
        return
    if text is None:
        return
    counts["calls"] += 1
    is_left_out = bool(grammar.dropped) or not _is_for_jsonschema(schema)
    if found := faults(file, text, tools, True, is_left_out):
        raise Find(f"{file.name}: {found[0]} in {text!r}")


def _check_answer(text: bytes | None, schema: Any, dropped: Any, engine: str, counts: Counter[str]) -> None:
    if text is None:
        counts[f"no end in {engine}"] += 1
        return
    counts[f"answers of {engine}"] += 1
    try:
        value = json.loads(text.decode())
    except ValueError as error:
        if engine == "xgrammar" and isinstance(error, UnicodeDecodeError):
            return  # its strings admit bytes that are no UTF-8
        raise Find(f"{engine} admits {text!r}: {error}") from None
    if dropped or not _is_for_jsonschema(schema):
        return
    counts["compared with jsonschema"] += 1
    try:
        errors = jsonschema.Draft202012Validator(schema).iter_errors(value)
        error = next((one for one in errors if not _is_rounding(one)), None)
    except Exception:  # as in _is_for_jsonschema, but found only at this value
        return
    if error is not None:
        raise Find(f"{engine} admits {text!r}: {error.message}, and nothing was dropped")


def _is_rounding(error: Any) -> bool:
    """Whether the value is a multiple that jsonschema, which divides doubles, takes for none."""
    if error.validator != "multipleOf":
        return False
    value, step = Decimal(repr(error.instance)), Decimal(repr(error.validator_value))
    return value % step == 0


def _is_for_jsonschema(schema: Any) -> bool:
    """Whether jsonschema, of draft 2020-12, takes the schema for what it is here."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if OLDER & node.keys() or isinstance(node.get("items"), list):
                return False
            if any(isinstance(node.get(key), bool) for key in ("exclusiveMinimum", "exclusiveMaximum")):
                return False
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.Draft202012Validator(schema).is_valid({})
    except Exception:  # malformed, a pattern of another dialect, a reference to nowhere
        return False
    return True


# Walks.


@cache
def _vocabulary() -> unspool.Vocabulary:
    return unspool.Vocabulary(
        {bytes([byte]): byte for byte in range(END)}, [(END, "<end>", "<end>", False)], is_bytes=True
    )


def _choose(rng: random.Random, allowed: list[int], size: int) -> int:
    """A byte; the longer the text, the sooner it ends."""
    closing = [byte for byte in allowed if byte in b'"]}>' or (size > 200 and byte in b"0,:tfn")]
    return rng.choice(closing if closing and rng.random() < 0.25 + size / 400 else allowed)


def _walk(
    engine: str,
    rng: random.Random,
    allowed: Callable[[], Any],
    take: Callable[[int], object],
    limit: int = 1500,
) -> bytes | None:
    """An answer at random; None if it has no end after so many bytes.

    Args:
        allowed: An entry for each byte, and for the end: whether it may come next.
    """
    chosen = bytearray()
    for _ in range(limit):
        ids = allowed().nonzero()[0].tolist()
        if not ids:
            raise Find(f"{engine} is stuck after {bytes(chosen)!r}")
        if END in ids and (len(ids) == 1 or rng.random() < 0.3):
            return bytes(chosen)
        byte = _choose(rng, [id for id in ids if id != END], len(chosen))
        take(byte)
        chosen.append(byte)
    return None


def _walk_llguidance(grammar: str, rng: random.Random) -> bytes | None:
    matcher = unspool.GrammarMatcher(grammar, _vocabulary(), end_ids=[END])
    mask = np.zeros((1, END // 32 + 1), np.int32)

    def allowed() -> Any:
        matcher.fill(mask)
        return _bits(mask[0])

    return _walk("llguidance", rng, allowed, matcher.take)


def _walk_xgrammar(text: str, rng: random.Random) -> bytes | None:
    matcher = xgrammar.GrammarMatcher(xgrammar_compiler().compile_structural_tag(text))
    mask = xgrammar.allocate_token_bitmask(1, END + 1)

    def allowed() -> Any:
        matcher.fill_next_token_bitmask(mask, 0)
        return _bits(mask[0].numpy())

    return _walk("xgrammar", rng, allowed, matcher.accept_token)


def _bits(row: Any) -> Any:
    return np.unpackbits(row.view(np.uint8), bitorder="little", count=END + 1)


# Processes.


def run_share(begin: int, count: int) -> None:
    """Print a line before each seed, one for each find, and the counts at the end."""
    counts = Counter[str]()
    resource.setrlimit(resource.RLIMIT_STACK, (STACK, resource.getrlimit(resource.RLIMIT_STACK)[1]))
    for seed in range(begin, begin + count):
        print(f"seed {seed}", flush=True)
        begin_s, begin_mib = time.process_time(), _peak_mib()
        try:
            try_schema(seed, counts)
        except Exception as error:
            print(f"find {type(error).__name__}: {str(error)[:2000]!r}", flush=True)
        if time.process_time() - begin_s > MOST_S:
            print(f"find slow: {time.process_time() - begin_s:.0f} s", flush=True)
        if _peak_mib() - begin_mib > MOST_MIB:
            print(f"find large: {_peak_mib() - begin_mib} MiB", flush=True)
    print(f"counts {json.dumps(counts)}", flush=True)


def _peak_mib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _watched(begin: int, count: int) -> Iterator[str]:
    """The lines of a child that runs these seeds; it is killed if a line takes too long."""
    child = subprocess.Popen(
        [sys.executable, "-W", "ignore", __file__, "--share", str(begin), str(count)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    timer = threading.Timer(0, child.kill)
    for line in child.stdout:
        timer.cancel()
        timer = threading.Timer(20 * MOST_S, child.kill)  # of a clock, on a busy machine
        timer.start()
        yield line.strip()
    timer.cancel()
    if child.wait() != 0:
        yield f"ended {child.returncode}"


def run(seed: int, count: int | None, seconds: float | None) -> int:
    """The number of finds; each is written to a file."""
    begin_s, next_seed, finds, counts = time.monotonic(), seed, 0, Counter[str]()
    while (count is None or next_seed < seed + count) and (
        seconds is None or time.monotonic() - begin_s < seconds
    ):
        size = SHARE if count is None else min(SHARE, seed + count - next_seed)
        at, next_seed = next_seed, next_seed + size
        for line in _watched(at, size):
            word, _, rest = line.partition(" ")
            if word == "seed":
                at = int(rest)
            elif word == "counts":
                counts.update(json.loads(rest))
            else:
                finds += 1
                _keep(at, line)
                if word == "ended":
                    next_seed = at + 1
    print(f"schemas: {next_seed - seed:,} from seed {seed}, {finds} finds")
    print("  " + ", ".join(f"{name}: {number:,}" for name, number in sorted(counts.items())))
    return finds


def _keep(seed: int, line: str) -> None:
    schema = draw_schema(random.Random(seed))
    FOUND.mkdir(parents=True, exist_ok=True)
    path = FOUND / f"schema-{seed}.json"
    path.write_text(json.dumps({"seed": seed, "found": line, "schema": schema}, indent=1), encoding="utf-8")
    print(f"{path.name}: {line[:600]}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--seed", type=int, default=None, help="the first; default: a new one, which is printed"
    )
    parser.add_argument("--count", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--only", type=int)
    parser.add_argument("--share", type=int, nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.share is not None:
        run_share(*given.share)
        return 0
    if given.only is not None:
        print(json.dumps(draw_schema(random.Random(given.only)), indent=1)[:5000])
        try_schema(given.only, counts := Counter())
        print(dict(counts))
        return 0
    seed = random.SystemRandom().randrange(2**40) if given.seed is None else given.seed
    return int(run(seed, given.count, given.seconds) > 0)


if __name__ == "__main__":
    sys.exit(main())

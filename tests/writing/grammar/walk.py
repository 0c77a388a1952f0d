"""Walks at random through the grammars of all formats, or of some, and prints what the parser misreads.

python -m tests.writing.grammar.walk --walks 10000 [--format NAME]... [--ground NAME]... [--seed N]

The walks of a format are shared out among grounds: bytes in llguidance (half of them), bytes in xgrammar in each of
its three syntaxes, the tokens of a real tokenizer with the format's markers, and generated schemas.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import unspool
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from unspool.formats.format_file import FormatFile
from unspool.writing.grammar.make_grammar import make_grammar

from .law import faults, faults_of_ids, splits_differ
from .matchers import XgrammarMatcher
from .real_tokens import RealTokens, closers_of
from .schema_walks import faults_of_schema, parameters
from .tools import fragments_of, tools_for
from .walks import TokenWalker, Walker

#: What one walk found; None: it came to no end.
Walk = list[str] | None
Ground = Callable[[FormatFile, int, random.Random], Iterator[Walk]]
CHOICES = ("required", "auto")


def over_bytes(file: FormatFile, count: int, rng: random.Random) -> Iterator[Walk]:
    """In llguidance."""
    tools = tools_for(file)
    for choice in CHOICES:
        text = make_grammar(file, tools, tool_choice=choice).text
        walker = Walker.of(text, fragments_of(file, tools), rng)
        for _ in range(count // 2):
            yield _faults(file, walker.walk(), tools, choice, rng)


def over_xgrammar(file: FormatFile, count: int, rng: random.Random) -> Iterator[Walk]:
    """In each of the syntaxes that it takes."""
    tools = tools_for(file)
    for choice, syntax in itertools.product(CHOICES, ("structural_tag", "gbnf", "lark")):
        text = make_grammar(file, tools, tool_choice=choice, syntax=syntax, reasoning=False).text  # type: ignore[arg-type]
        walker = Walker(XgrammarMatcher(text, syntax), fragments_of(file, tools), rng)
        for _ in range(count // 6):
            start = "content" if file.has_reasoning else "auto"
            yield _faults(file, walker.walk(), tools, choice, rng, start_in=start)


def over_tokens(file: FormatFile, count: int, rng: random.Random) -> Iterator[Walk]:
    """Of a real tokenizer, in llguidance."""
    tools, tokens = tools_for(file), RealTokens.of(file)
    for choice in CHOICES:
        text = make_grammar(
            file, tools, tool_choice=choice, tokenizer=tokens.vocabulary, reasoning=False
        ).text
        walker = TokenWalker.of(tokens.matcher_tokens, text, closers_of(file, tokens.tokenizer), rng)
        for _ in range(count // 2):
            ids = walker.walk()
            if ids is None:
                yield None
                continue
            start = "content" if file.has_reasoning else "auto"
            found = faults_of_ids(file, ids, tools, choice != "auto", tokens.vocabulary, start_in=start)
            yield [f"{fault} in {tokens.tokenizer.decode(ids, False)!r}" for fault in found]


def over_schemas(file: FormatFile, count: int, rng: random.Random) -> Iterator[Walk]:
    """Each walk with a schema of its own."""
    walks: list[Walk] = []

    @seed(rng.getrandbits(32))
    @settings(max_examples=count, deadline=None, database=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(parameters=parameters(), seed=st.integers(0, 2**32))
    def walk(parameters: dict[str, Any], seed: int) -> None:
        walks.append(faults_of_schema(file, parameters, seed))

    walk()
    yield from walks


#: Each ground with its share of a format's walks.
GROUNDS: dict[str, tuple[Ground, float]] = {
    "bytes": (over_bytes, 0.5),
    "xgrammar": (over_xgrammar, 0.3),
    "tokens": (over_tokens, 0.1),
    "schemas": (over_schemas, 0.1),
}


def _faults(
    file: FormatFile, written: bytes | None, tools: Any, choice: str, rng: random.Random, **options: Any
) -> Walk:
    if written is None:
        return None
    found = faults(file, written, tools, choice != "auto", **options)
    split = splits_differ(file, written, tools, rng, 1, **options)
    return [f"{fault} in {written!r}" for fault in [*found, *([split] if split else [])]]


def main() -> int:
    """Returns 1 if anything was misread, or a ground had no walk to its end."""
    warnings.simplefilter("ignore")
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--walks", type=int, default=100)
    arguments.add_argument("--format", action="append")
    arguments.add_argument("--ground", action="append", choices=GROUNDS)
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    grounds = given.ground or [name for name in GROUNDS if name != "xgrammar" or find_spec("xgrammar")]
    files = [
        file for file in unspool.formats() if file.has_tools and file.name in (given.format or [file.name])
    ]
    bad = 0
    for file, name in itertools.product(files, grounds):
        ground, share = GROUNDS[name]
        begin, rng = time.time(), random.Random(f"{given.seed} {file.name} {name}")
        walks = list(ground(file, max(6, round(given.walks * share)), rng))
        done = [faults for faults in walks if faults is not None]
        wrong = [faults for faults in done if faults]
        bad += bool(wrong) or not done
        verdict = "BAD" if wrong or not done else "ok "
        print(
            f"{verdict} {file.name:18} {name:9} {len(wrong)} misread of {len(done)} complete, of {len(walks)} walks; "
            f"{time.time() - begin:.1f} s",
            *wrong[:1], sep="\n    ", flush=True,
        )  # fmt: skip
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())

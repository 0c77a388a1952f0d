"""What a grammar makes of instances that others labelled: it should admit the valid ones and no other."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import unspool

from .matchers import Matcher

__all__ = ["COUNTS", "count_instances"]

#: `listed`: an invalid instance is admitted, and `dropped` names what the grammar leaves out.
COUNTS = ("schemas", "refused schemas", "valid", "valid refused", "invalid", "invalid admitted", "listed")

Compile = Callable[[Any], tuple[Matcher, bool]]


def count_instances(groups: Iterable[tuple[Any, list[tuple[Any, bool]]]], compile: Compile) -> Counter[str]:
    """The counts of many schemas.

    Args:
        groups: A schema, and its instances, each with whether it is valid.
        compile: Returns a schema's matcher, and whether the grammar leaves out a part. It raises ArgumentError or
            ValueError for a schema without a grammar.
    """
    found = Counter(dict.fromkeys(COUNTS, 0))
    for schema, instances in groups:
        found["schemas"] += 1
        try:
            matcher, leaves_out = compile(schema)
        except (unspool.ArgumentError, ValueError):
            found["refused schemas"] += 1
            continue
        for value, is_valid in instances:
            matcher.restart()
            text = json.dumps(value, ensure_ascii=False).encode()
            is_admitted = matcher.admits(text) == len(text)
            if is_admitted:
                matcher.take(text)
                is_admitted = matcher.may_end()
            found["valid" if is_valid else "invalid"] += 1
            if is_valid and not is_admitted:
                found["valid refused"] += 1
            if is_admitted and not is_valid:
                found["listed" if leaves_out else "invalid admitted"] += 1
    return found

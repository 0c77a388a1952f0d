"""What requests share is compiled once, and how much of it is kept does not grow."""

from __future__ import annotations

import gc
import itertools
from typing import Any

import pytest
import unspool
from unspool import Parser, Vocabulary
from unspool.core.format import compile_format as module
from unspool.core.format.compile_format import compile_format
from unspool.core.format.other_families import compile_others

from ..outputs import TOOLS
from .allocator import allocated_bytes

FORMATS = [file.name for file in unspool.formats() if file.has_tools]
SHARED: list[dict[str, Any]] = [
    {"unmarked_calls": True},
    {"also": "any"},
    {"also": "any", "unmarked_calls": True},
]
OPTIONS: list[dict[str, Any]] = [
    *SHARED,
    {},
    {"tool_choice": "required"},
    {"tool_choice": "get_weather"},
    {"reasoning": False},
    {"tool_calls_in_reasoning": "end"},
]


@pytest.mark.parametrize("options", SHARED, ids=str)
def test_a_format_is_compiled_once_for_equal_options(options: dict[str, Any]) -> None:
    """However many formats were compiled between them, and for each list of tools."""
    made = [compile_format(name, **options) for name in FORMATS]
    again = [compile_format(name, **options) for name in FORMATS]
    assert all(one is other for one, other in zip(made, again, strict=True))


def test_other_families_are_compiled_once_beside_unmarked_calls() -> None:
    """A few ways more than all families: the bytes are those of the ways."""
    compile_others("any")
    before = allocated_bytes()
    made = [compile_others("any", unspool.get_format(name)) for name in ("hermes", "glm45", "kimi_k2")]
    assert allocated_bytes() - before < 6_000_000
    assert all(one.names == made[0].names for one in made if one and made[0])


def test_tool_names_without_end_keep_no_more_formats() -> None:
    vocabulary = Vocabulary({bytes([byte]): byte for byte in range(256)}, [])
    for number in range(module._SIZE + 40):
        compile_format("json", tool_choice=f"f{number}", vocabulary=vocabulary)
    assert len(module._cache_of(vocabulary)) == module._SIZE


def use_all() -> None:
    for name, options in itertools.product(FORMATS, OPTIONS):
        Parser(name, TOOLS, **options).parse("Hello")


@pytest.mark.skipif(not allocated_bytes(), reason="needs glibc's mallinfo2")
def test_memory_does_not_grow_with_each_use_of_all_formats() -> None:
    kept = []
    for _ in range(3):
        use_all()
        gc.collect()
        kept.append(allocated_bytes())
    assert kept[2] - kept[1] < 1_000_000, kept

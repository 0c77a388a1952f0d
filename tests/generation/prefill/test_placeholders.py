"""Where a multimodal prompt may be cut."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from unspool.generation.prefill.placeholders import (
    Chunk,
    Unit,
    find_units,
    placeholder_ids,
    plan_chunks,
)

IMG, SND = 90, 91  # an image's placeholder, a sound's
IDS = frozenset({IMG, SND})


def ids(*values: int) -> torch.Tensor:
    return torch.tensor([values])


@st.composite
def layouts(draw: Any) -> tuple[int, list[Unit]]:
    """A length, and units in it that do not overlap."""
    position, units = 0, []
    for number in range(draw(st.integers(0, 4))):
        begin = position + draw(st.integers(0, 5))
        position = begin + draw(st.integers(1, 6))
        units.append(Unit(begin, position, {"pixel_values": torch.tensor([number])}))
    return position + draw(st.integers(0, 5)), units


@given(layouts(), st.integers(1, 9))
def test_chunks_cover_the_prompt_and_cut_no_unit(layout: Any, chunk_tokens: int) -> None:
    length, units = layout
    chunks = plan_chunks(length, units, chunk_tokens)
    bounds = [chunk.begin for chunk in chunks] + [length]
    assert [chunk.end for chunk in chunks] == bounds[1:]
    assert all(begin < end for begin, end in pairwise(bounds))
    for unit in units:
        assert not any(unit.begin < bound < unit.end for bound in bounds)
    for chunk in chunks:
        alone = any((unit.begin, unit.end) == (chunk.begin, chunk.end) for unit in units)
        assert chunk.end - chunk.begin <= chunk_tokens or alone
    used = [chunk.static_inputs["pixel_values"] for chunk in chunks if chunk.static_inputs]
    assert torch.cat([torch.zeros(0), *used]).tolist() == list(range(len(units)))


def test_a_boundary_inside_a_unit_moves_to_its_beginning() -> None:
    pixels = {"pixel_values": torch.ones(1)}
    chunks = plan_chunks(10, [Unit(3, 7, pixels)], 4)
    assert [(chunk.begin, chunk.end) for chunk in chunks] == [(0, 3), (3, 7), (7, 10)]
    assert [bool(chunk.static_inputs) for chunk in chunks] == [False, True, False]
    assert plan_chunks(10, [], 4, begin=5) == [Chunk(5, 9), Chunk(9, 10)]


def test_a_unit_a_run_where_rows_and_lengths_say_so() -> None:
    pixels = torch.arange(2.0).reshape(2, 1)
    sizes = torch.tensor([[3, 4], [5, 6]])
    units = find_units(ids(1, IMG, IMG, 2, IMG, IMG, 3), IDS, {"pixel_values": pixels, "image_sizes": sizes})
    assert units is not None
    assert [(unit.begin, unit.end) for unit in units] == [(1, 3), (4, 6)]
    assert torch.equal(units[1].static_inputs["pixel_values"], pixels[1:])
    assert torch.equal(units[0].static_inputs["image_sizes"], sizes[:1])


@pytest.mark.parametrize(
    ("tokens", "static_inputs"),
    [
        ((1, IMG, IMG, 2, IMG, 3), {"pixel_values": torch.ones(2, 1)}),  # runs of two lengths
        ((1, IMG, IMG, 2, 3, IMG, IMG), {"pixel_values": torch.ones(3, 1)}),  # tiles: more rows than runs
        ((1, IMG, 2, 2, 2, IMG), {"pixel_values": torch.ones(2, 1), "grid": torch.ones(1)}),
        ((1, IMG, 2, 2, 2, IMG), {"pixel_values": [torch.ones(1), torch.ones(1)]}),
        ((1, IMG, IMG, 7, SND, SND), {"pixel_values": torch.ones(1, 1), "input_features": torch.ones(1, 1)}),
    ],
)
def test_else_one_unit_with_everything(tokens: tuple[int, ...], static_inputs: Any) -> None:
    units = find_units(ids(*tokens), IDS, static_inputs)
    assert units is not None
    ends = [index for index, id in enumerate(tokens) if id in IDS]
    assert [(unit.begin, unit.end) for unit in units] == [(ends[0], ends[-1] + 1)]
    assert units[0].static_inputs == static_inputs


def test_no_placeholder() -> None:
    assert find_units(ids(1, 2, 3), IDS, {"pixel_values": torch.ones(1)}) is None


def test_placeholders_of_a_config() -> None:
    config = SimpleNamespace(image_token_index=7, video_token_id=8, audio_token_index=None, eos_token_id=2)
    assert placeholder_ids(SimpleNamespace(config=config)) == {7, 8}
    assert placeholder_ids(object()) == frozenset()

"""The engines that are here, each started once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from .engines import ENGINES, Served, serving
from .scripted import Stage, write_book
from .suite import CUSTOM, SUITE


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """The scripted model."""
    return write_book(tmp_path_factory.mktemp("scripted"), [*SUITE, *CUSTOM])


# Plain `pytest` has all turns through llama.cpp and SGLang's shapes, and a quarter of the rest.
_ALWAYS = ("llama.cpp", "SGLang's shapes", "vLLM")
_PARAMS = [
    pytest.param(name, marks=() if name in _ALWAYS else pytest.mark.rest(but_one_in=4)) for name in ENGINES
]


@pytest.fixture(scope="session", params=_PARAMS)
def served(request: Any, stage: Stage) -> Iterator[Served]:
    """Our server in front of each engine."""
    with serving(request.param, stage) as found:
        yield found

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


@pytest.fixture(scope="session", params=list(ENGINES))
def served(request: Any, stage: Stage) -> Iterator[Served]:
    """Our server in front of each engine."""
    with serving(request.param, stage) as found:
        yield found

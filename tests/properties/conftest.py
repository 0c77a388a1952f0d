"""Each property runs over every format; a failure shows the format and the smallest output."""

from __future__ import annotations

import pytest
import unspool

FORMATS = [file.name for file in unspool.formats()]


@pytest.fixture(params=FORMATS, scope="session")
def format(request: pytest.FixtureRequest) -> str:
    return str(request.param)

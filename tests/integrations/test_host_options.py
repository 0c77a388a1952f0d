"""Options that hosts take from the environment."""

from __future__ import annotations

import pytest
from unspool.errors import ArgumentError
from unspool.integrations.host_options import WHITE_SPACE, white_space


@pytest.mark.parametrize(("value", "expected"), [("", "keep"), ("keep", "keep"), ("trim", "trim")])
def test_white_space_comes_from_the_environment(
    value: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(WHITE_SPACE, value)
    assert white_space() == expected


def test_another_value_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WHITE_SPACE, "strip")
    with pytest.raises(ArgumentError, match="UNSPOOL_WHITE_SPACE is 'strip'; use 'keep' or 'trim'"):
        white_space()

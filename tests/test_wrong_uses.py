"""A wrong use raises an error that says what is wrong and what to do, in our own words."""

from __future__ import annotations

import re

import pytest
import unspool

from .wrong_uses import WRONG, CommandError

#: Texts of Python and of pybind11 that say nothing to a user.
RAW = re.compile(
    "incompatible (function|constructor)|Unable to cast|has no attribute|not iterable|unexpected keyword|Traceback|C\\+\\+|<unspool|object at 0x"
)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_use(name: str) -> None:
    use, words = WRONG[name]
    with pytest.raises((unspool.UnspoolError, TypeError, FileNotFoundError, CommandError)) as raised:
        use()
    said = str(raised.value)
    assert len(said) <= 500
    assert not RAW.search(said)
    for word in words:
        assert word in said

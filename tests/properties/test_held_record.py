"""Outputs that quote nothing hold no more bytes than the record says."""

from __future__ import annotations

from .held_record import MODES, held, recorded
from .laws import cases_of


def test_no_case_holds_more_than_is_recorded(format: str) -> None:
    more = []
    for case in cases_of(format):
        for mode, most in zip(MODES, recorded().get(format, {}).get(case.name, ()), strict=False):
            found = held(case, mode)
            if found > most:
                more.append(f"{case} [{mode}]: {found} bytes in all, not {most}")
    assert not more, "\n".join(more)

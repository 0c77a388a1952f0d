"""A fork, and a stream of a snapshot, at any byte of a response template's output equal a fresh run."""

from __future__ import annotations

import pytest
import unspool

from ..forks import ForkLaw
from .templates import CASES, TOOLS, Case


@pytest.mark.parametrize("withholds", [False, True])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_at_every_byte(case: Case, withholds: bool) -> None:
    format = unspool.Format.from_response_template(case.template)
    outputs = [output.encode() for output in case.outputs]
    for number, output in enumerate(outputs):
        law = ForkLaw(
            lambda: unspool.Parser(
                format,
                TOOLS,
                id_seed=1,
                audit=True,
                incomplete_calls="withhold" if withholds else "forward",
                unknown_tools="drop-with-report",
            ),
            lambda parser, chunk: parser.parse_chunk(chunk),
            output,
            outputs[number - 1][len(output) // 2 :],
        )
        law.check(range(len(output) + 1))
        law.check_snapshots(range(number % 3, len(output) + 1, 3))

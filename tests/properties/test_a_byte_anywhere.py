"""A byte too many, anywhere in an output: the parser reads on, and loses nothing.

No law judges such an output: it may be damaged, or another output that is whole.
"""

from __future__ import annotations

import json

from unspool.testing import Case

from .laws import MODES, Mode, cases_of, is_drawn, read, untold

BYTES = "2.(]{\"'<`"
ONE_IN = 12


def problem(case: Case, output: str, mode: Mode) -> str:
    message = read(case, output, mode, case.finish_reason)
    arguments = [json.loads(call.arguments) for call in message.tool_calls if call.is_complete]
    if not all(isinstance(one, dict) for one in arguments):
        return f"the arguments are no object: {arguments}"
    return untold(message, output)


def test_a_byte_anywhere(format: str, thorough: bool) -> None:
    for case in cases_of(format):
        for place in range(len(case.input) + 1):
            for number, byte in enumerate(BYTES):
                seed = (format, case.name, place, byte)
                if not (thorough or is_drawn(ONE_IN, *seed)):
                    continue
                output = case.input[:place] + byte + case.input[place:]
                mode = MODES[(place + number) % len(MODES)]
                assert not (found := problem(case, output, mode)), (str(case), mode, output, found)

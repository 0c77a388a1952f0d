"""Law 10: one slip in a call of a list loses no other call of it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from unspool import get_format
from unspool.testing import Case
from unspool.writing.render.render import write_text

from .laws import Mode, Trial, is_drawn, known, occurrences, read, shown
from .test_law_8_slips import slipped, slips

ONE_IN = 4

CALLS = [
    ("get_weather", {"city": "Kyoto", "days": 31}),
    ("send_mail", {"to": "Ruth", "body": "Bring bread."}),
    ("set_alarm", {"hour": 7, "label": "school"}),
]
TOOLS = tuple(
    {
        "name": name,
        "parameters": {
            "type": "object",
            "properties": {
                key: {"type": "integer" if isinstance(value, int) else "string"}
                for key, value in given.items()
            },
        },
    }
    for name, given in CALLS
)
#: What names and values say, in the order of the output; a slip is in what stands around it.
TEXTS = tuple(
    text for name, given in CALLS for text in (name, *given, *(str(value) for value in given.values()))
)
MODES: tuple[Mode, ...] = ("text", "ids")


def written_list(format: str) -> str | None:
    """Three calls as the format writes them; None: each has markers of its own."""
    if not get_format(format).has_tools:
        return None
    calls = [{"function": {"name": name, "arguments": given}} for name, given in CALLS]
    output = write_text(get_format(format), {"role": "assistant", "content": "", "tool_calls": calls})
    first, last = output.find(CALLS[0][0]), output.find(CALLS[-1][0])
    between = [begin for begin, _ in occurrences(format, output) if first < begin < last]
    return None if between or "[" not in output[:first] else output


def places(output: str) -> list[int]:
    """Where each call begins, and the last one's last value."""
    begins = [output.index(name) for name, _ in CALLS]
    # The brace before the name, where the name is a member.
    begins = [
        max(output.rfind("{", 0, at), output.rfind("}", 0, at) + 1) if "{" in output else at for at in begins
    ]
    return [*begins, output.rindex(str(list(CALLS[-1][1].values())[-1]))]


def trials(format: str, thorough: bool) -> Iterator[Trial]:
    output = written_list(format)
    if output is None:
        return
    case = Case(format, "three calls", output, tools=TOOLS)
    begins = places(output)
    for mode in MODES:
        original = read(case, output, mode, "stop")
        told = [(call.name, json.loads(call.arguments)) for call in original.tool_calls]
        assert told == [(name, given) for name, given in CALLS], (format, told)
        for slip in slips(format, output, TEXTS):
            within = next(
                (i for i in range(len(CALLS)) if begins[i] < slip[0] and slip[1] <= begins[i + 1]), None
            )
            if within is None or not (thorough or is_drawn(ONE_IN, format, mode, slip)):
                continue
            changed = slipped(output, slip)
            message = read(case, changed, mode, "stop")
            complete = [(call.name, call.arguments) for call in message.tool_calls if call.is_complete]
            missing = [
                call.name
                for i, call in enumerate(original.tool_calls)
                if i != within and (call.name, call.arguments) not in complete
            ]
            problem = f"a slip in {CALLS[within][0]} loses {missing}" if missing else ""
            yield Trial(case, mode, changed, "stop", {}, problem)


def test_law_10(format: str, thorough: bool) -> None:
    failures = [trial for trial in trials(format, thorough) if trial.problem]
    assert len(failures) == known(10, format), shown(failures)

"""How many bytes are held at each place of the shipped cases, summed: the record that may only fall.

`cd tests && python -m properties.held_record` writes `held_record.json` anew: for each case of a format the sum in text
mode, a byte at a time, and by ids, a token at a time. Three kinds of cases are left out, because two readings are
possible and what decides comes later: those that quote their format's own markup or have a fence, those with a call
inside the reasoning, and those with tags whose values or calls lack a closer.

The first record was that of a core that did not read quotes. Since then a few sums are larger: by ids an opener within a
line waits for what follows its name, as in text; text after whole arguments waits for the call's closer; `</` in content
and `<parameter` in a value may begin one marker more; with `repair`, the first key waits for its value, which may be left
out.
"""

from __future__ import annotations

import functools
import json
import warnings
from pathlib import Path

import unspool
from unspool import Message, get_format
from unspool.testing import Case

from .laws import Mode, call_tuples, cases_of, parser_of, read, steps, telling, texts_of, value_closers

FILE = Path(__file__).with_suffix(".json")
MODES: tuple[Mode, ...] = ("text", "ids")


def held(case: Case, mode: Mode) -> int:
    """The held bytes after each byte or token, summed."""
    parser, total = parser_of(case, mode), 0
    for text, id in steps(case.format, case.input):
        for piece in [text] if mode == "ids" else [text[i : i + 1] for i in range(len(text))]:
            parser.parse_chunk(tokens=[id]) if mode == "ids" else parser.parse_chunk(piece)
            total += parser.held_bytes
    parser.finish(case.finish_reason)
    return total


def may_be_read_twice(case: Case) -> bool:
    """Whether two readings are possible at some place of the case."""
    if "```" in case.input:
        return True
    for mode in MODES:
        message = read(case, case.input, mode, case.finish_reason)
        kept = read(case, case.input, mode, case.finish_reason, tool_calls_in_reasoning="keep")
        said = "\n".join([message.content, message.reasoning, *texts_of(message)])
        has_markup = any(marker in said for marker in telling(case.format))
        if has_markup or call_tuples(message) != call_tuples(kept) or lacks_closers(case, message):
            return True
    return False


def lacks_closers(case: Case, message: Message) -> bool:
    """Whether a value or a call of tags has no closer, or more than one."""
    values = value_closers(case.format)
    if not values:
        return False
    if message.malformed or not all(call.is_complete for call in message.tool_calls):
        return True
    number = sum(map(len, map(json.loads, (call.arguments for call in message.tool_calls))))
    closers = {text for call in get_format(case.format).facts.calls for text in call.closers}
    is_whole = sum(map(case.input.count, values)) == number
    return not is_whole or any(0 < case.input.count(text) < len(message.tool_calls) for text in closers)


@functools.cache
def recorded() -> dict[str, dict[str, list[int]]]:
    """By format and case: the sums in text mode and by ids."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def main() -> None:
    warnings.simplefilter("ignore")
    made = {
        file.name: {
            case.name: [held(case, mode) for mode in MODES]
            for case in cases_of(file.name)
            if not may_be_read_twice(case)
        }
        for file in unspool.formats()
    }
    lines = [f"{json.dumps(name)}: {json.dumps(sums, ensure_ascii=False)}" for name, sums in made.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Law 18: markup that belongs to nothing is never the user's text.

By ids a closing token that closes nothing is dropped and listed in `malformed`; in text mode so is a closer of the
reasoning or of a call at the end of an answer. What stands between a section's opener and closer and is no call shows
no marker. A whole header with an unknown word is markup. An opener with a tool's name, in prose, is text by ids too.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from unspool import Message, get_format
from unspool.testing import Case

from .laws import MODES, Mode, Trial, call_tuples, cases_of, is_drawn, known, read, shown, tokens, untold
from .quoting import NEUTRAL, WRITER, has_tools, plain, spoken, spoken_of, told, tools_with, value_of, written
from .test_law_2_mentions import is_spelled
from .test_law_5_closers_twice import closers
from .test_law_6_named_mentions import MENTIONS, inputs, name_of, openers

SENTENCE = "The answer is four, I think."
PLACES = {
    "at the beginning": "{}The answer is four, I think.",
    "on the first line": "{}\nThe answer is four, I think.",
    "in the middle": "The answer{} is four, I think.",
    "on a line": "The answer\n{}\nis four, I think.",
    "at the end": "The answer is four, I think.{}",
    "on the last line": "The answer is four, I think.\n{}",
    "twice at the end": "The answer is four, I think.\n{0}\n{0}",
}
ENDS = ("{}", "\n{}", "\n\n{}\n", "\n{0}\n{0}")
WORDS = ("bash", "Final", "notes", "final_answer")
SPLIT_ONE_IN = 2
BY_IDS: tuple[Mode, ...] = ("ids", "both")


@functools.cache
def opens(format: str) -> frozenset[str]:
    """What opens something, ends an answer, or stands in an ordinary one."""
    facts = get_format(format).facts
    found = [*facts.ends, *facts.dropped, *facts.section_openers]
    found += [text for call in facts.calls for text in call.openers]
    found += [text for header in facts.headers for text in (*header.openers, *header.closers)]
    found += facts.reasoning.openers if facts.reasoning else ()
    return frozenset(text.strip() for text in found)


@functools.cache
def orphan_tokens(format: str) -> tuple[str, ...]:
    """The tokens that close a call, a section, a value or the reasoning, and do nothing else."""
    ordinary = spoken(format, SENTENCE)
    found = [text for text in closers(format) if text in tokens(format)]
    return tuple(text for text in found if text not in opens(format) and text not in ordinary)


@functools.cache
def final_closers(format: str) -> tuple[str, ...]:
    """The closers of the reasoning, of calls and of sections."""
    facts = get_format(format).facts
    found = [*facts.section_closers, *(text for call in facts.calls for text in call.closers)]
    found += facts.reasoning.closers if facts.reasoning else ()
    ordinary = spoken(format, SENTENCE)
    return tuple(
        {
            text.strip(): None
            for text in found
            if len(text.strip()) > 2
            and "```" not in text
            and text.strip() not in opens(format)
            and text.strip() not in ordinary
        }
    )


def trials(format: str, thorough: bool) -> Iterator[Trial]:
    for made in (token_orphans, text_orphans, noise_in_sections, unknown_headers, named_mentions):
        for case, mode, found in made(format):
            problem = found
            if not problem and (thorough or is_drawn(SPLIT_ONE_IN, case.input, mode)):
                whole, bytewise = (read(case, case.input, mode, whole=one) for one in (True, False))
                if told(whole) != told(bytewise):
                    problem = f"split: whole {told(whole)}, by bytes {told(bytewise)}"
            yield Trial(case, mode, case.input, "stop", {}, problem)


Tried = Iterator[tuple[Case, Mode, str]]


@functools.cache
def has_header(format: str) -> bool:
    """Whether an answer begins with a header, or with empty reasoning."""
    return spoken(format, SENTENCE).strip() != SENTENCE


def case_of(format: str, name: str, output: str, starts: bool = True) -> Case:
    """A case that starts in the content, or else says itself where it starts."""
    options = {"start_in": "content"} if starts else {}
    return Case(format, name, output, tools=tools_with(format, ()), options=options)


def reported(message: Message, marker: str) -> bool:
    return any(marker in item.text for item in message.malformed)


def orphan_problem(kind: str, message: Message, marker: str, wanted: str) -> str:
    got = f"{marker!r}: got {message.content!r}, {call_tuples(message)}, malformed {message.malformed}"
    if message.tool_calls:
        return f"{kind}, a call: {got}"
    if marker in message.content + message.reasoning:
        return f"{kind}, shown: {got}"
    if message.content.split() != wanted.split():
        return f"{kind}, content: wanted {wanted!r}, {got}"
    return "" if reported(message, marker) else f"{kind}, not reported: {got}"


def token_orphans(format: str) -> Tried:
    for marker in orphan_tokens(format):
        for kind, place in PLACES.items():
            said = place.replace("{0}", "{}").replace("{}", marker)
            plain_text = place.replace("{0}", "{}").replace("{}", "")
            for mode in BY_IDS:
                ordinary = spoken_of(format, mode, plain_text)
                if ordinary is None or ordinary[0].split() != plain_text.split():
                    continue
                case = case_of(format, f"a token {kind}", spoken(format, said), not has_header(format))
                message = read(case, case.input, mode)
                problem = orphan_problem("a token", message, marker, plain_text)
                yield case, mode, problem or untold(message, case.input)


def text_orphans(format: str) -> Tried:
    if get_format(format).facts.headers:
        return
    for marker in final_closers(format):
        for end in ENDS:
            case = case_of(
                format, "a closer at the end", SENTENCE + end.replace("{0}", "{}").replace("{}", marker)
            )
            message = read(case, case.input, "text")
            problem = orphan_problem("text", message, marker, SENTENCE)
            yield case, "text", problem or untold(message, case.input)


def noise_in_sections(format: str) -> Tried:
    facts = get_format(format).facts
    for opener in facts.section_openers:
        for closer in facts.section_closers or ("",):
            if not is_spelled(format, opener.strip()) or (closer and not is_spelled(format, closer.strip())):
                continue
            for before in ("", "I look.\n"):
                case = case_of(format, "noise", f"{before}{opener.strip()}noise here{closer.strip()}")
                for mode in BY_IDS:
                    message = read(case, case.input, mode)
                    got = f"{opener!r}: {message.content!r}, {call_tuples(message)}, {message.malformed}"
                    problem = untold(message, case.input)
                    if message.tool_calls:
                        problem = f"noise, a call: {got}"
                    elif any(one.strip() in message.content for one in (opener, closer) if one):
                        problem = f"noise, shown: {got}"
                    elif not message.malformed:
                        problem = f"noise, not reported: {got}"
                    yield case, mode, problem


def unknown_headers(format: str) -> Tried:
    """A channel that the format does not know: its message is the answer; with a recipient it is a call."""
    facts = get_format(format).facts
    channel = next((text for header in facts.headers for text in header.openers if "channel" in text), None)
    if channel is None:
        return
    answer, call = spoken(format, "Four."), written(format, NEUTRAL)
    for word in WORDS:
        for start in ("", "<|start|>assistant"):
            for mode in MODES:
                for space in ("", " "):
                    ordinary = spoken_of(format, mode, "Four.")
                    name = answer[answer.index(channel) + len(channel) : answer.index("<|message|>")]
                    output = start + answer.replace(channel + name, f"{channel}{space}{word}", 1)
                    yield header_trial(format, output, mode, ordinary, None)
                    output = f"{start}{channel}{space}{word}{answer}"
                    yield header_trial(format, output, mode, ordinary, None)
                    called = plain(format, mode, NEUTRAL, "", "")
                    if call.lstrip().startswith(channel):
                        yield header_trial(
                            format, f"{start}{channel}{space}{word}{call}", mode, ("", ""), called
                        )
                        body = call.lstrip().removeprefix(channel).lstrip()
                        rest = body[len(body.split()[0]) :]
                        yield header_trial(
                            format, f"{start}{channel}{space}{word}{rest}", mode, ("", ""), called
                        )


def header_trial(
    format: str, output: str, mode: Mode, wanted: tuple[str, str] | None, called: Message | None
) -> tuple[Case, Mode, str]:
    case = case_of(format, "an unknown word in a header", output, starts=False)
    message = read(case, output, mode)
    got = f"{message.content!r}, {message.reasoning!r}, {call_tuples(message)}"
    problem = untold(message, output)
    calls = [(call.name, call.status) for call in message.tool_calls]
    wanted_calls = [(WRITER, "complete")] if called else []
    if calls != wanted_calls or (called and value_of(message) != NEUTRAL):
        problem = f"header, calls: wanted {wanted_calls}, got {got}"
    elif (message.content.strip(), message.reasoning.strip()) != wanted:
        problem = f"header, content: wanted {wanted}, got {got}"
    return case, mode, problem


def named_mentions(format: str) -> Tried:
    """As law 6, with the opener as its tokens. A header of tokens is no mention."""
    first = next((case for case in cases_of(format) if case.tools), None)
    if not has_tools(format) or first is None or get_format(format).facts.headers:
        return
    cases = [first, *(each for each in cases_of(format) if each is not first and len(list(inputs(each))) > 1)]
    for each in cases[:3]:
        for _, output in inputs(each):
            for mode in BY_IDS:
                after = read(each, output, mode, start_in="content")
                if after.malformed or any(not call.is_complete for call in after.tool_calls):
                    continue
                for kind, sentence in MENTIONS.items():
                    if kind == "line":
                        continue
                    for opener in openers(format):
                        said = sentence.replace("{}", opener.replace("%", name_of(each)))
                        case = Case(
                            format,
                            f"a mention of an opener, {kind}",
                            said + output,
                            tools=each.tools,
                            options={"start_in": "content"},
                        )
                        message = read(case, case.input, mode)
                        problem = untold(message, case.input)
                        wanted = " ".join((said + after.content).split())
                        if call_tuples(message) != call_tuples(after):
                            problem = f"mention, calls: wanted {call_tuples(after)}, got {call_tuples(message)}, {message.content!r}"
                        elif " ".join(message.content.split()) != wanted:
                            problem = f"mention, content: wanted {wanted!r}, got {message.content!r}"
                        yield case, mode, problem


def test_law_18(format: str, thorough: bool) -> None:
    failures = [trial for trial in trials(format, thorough) if trial.problem]
    assert len(failures) == known(18, format), shown(failures)

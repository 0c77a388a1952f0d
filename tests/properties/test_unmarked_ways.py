"""`unmarked_calls=True` reads every way in which the own family writes a call, without its markers.

What is left of a call without them: the tool's name and the arguments, or the object that holds both, or the tag that
the name continues (<function=get_weather>). A mention of a tool in prose stays text.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import unspool
from unspool._core import FormShape, Shape
from unspool.core.format.registry import sources
from unspool.testing import byte_splits
from unspool.testing.marker_tokenizer import marker_tokenizer
from unspool.writing.render.calls_writer import CallsWriter
from unspool.writing.render.given_answer import AnswerCall
from unspool.writing.render.pieces import text_of

ARGUMENTS = {"city": "Paris", "days": 3}
TOOLS: list[dict[str, Any]] = [
    {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    },
    {"name": "now", "parameters": {"type": "object", "properties": {}}},
]
TOOLS += [
    {
        "name": "bash",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string"}},
            "required": ["command"],
        },
    }
]
SHIPPED = {source.name: source for source in sources() if source.has_tools}
# Texts that are not read, by format: what is left is half a header (beam, llm_jp_41, openai), or begins with what
# precedes the name (mirothinker: the end of a server's name; solar_open: an id).
KNOWN_FAILURES = {"beam": 2, "llm_jp_41": 2, "mirothinker": 2, "openai": 2, "solar_open": 2}
# The family writes tags too, and behind them only the call's closer lets other text follow.
KNOWN_FOLLOWED = {"glm53_flash": 4}


@functools.cache
def ways(format: str) -> tuple[str, ...]:
    """The texts of one call without the markers around it."""
    shape = SHIPPED[format].shape
    return tuple(dict.fromkeys(text for form in shape.forms for text in ways_of_form(shape, form)))


def ways_of_form(shape: Shape, form: FormShape) -> Iterator[str]:
    call = form.call
    takes_text = call.body == "xml_parameters" and not form.parameters
    arguments = {"command": "ls"} if takes_text else ARGUMENTS
    one = AnswerCall("bash" if takes_text else "get_weather", arguments, json.dumps(arguments))
    written = text_of(CallsWriter(shape, form).write([one]))
    opener, closer = call.open.text.strip(), call.shortest_close.text.strip()
    begin, end = written.index(opener), written.rindex(closer) if closer else None
    is_tag = opener.rfind("<") > opener.rfind(">") or (opener.endswith('"') and not shape.header)
    if is_tag:  # the name continues it
        begin += 0 if form.section else opener.rfind("<")
        yield written[begin:end] + closer[: closer.index(">") + 1 if form.section is None else None]
        return
    yield written[begin + len(opener) : end].strip()
    if call.body == "json_arguments":
        yield f"{one.name}{one.text}"
        yield f"{one.name}\n{one.text}"


def read(format: str, pieces: list[Any], **options: Any) -> unspool.Message:
    parser = unspool.Parser(format, TOOLS, start_in="content", unmarked_calls=True, audit=True, **options)
    for piece in pieces:
        parser.parse_chunk(tokens=[piece]) if isinstance(piece, int) else parser.parse_chunk(piece)
    return parser.finish("stop")


def told(message: unspool.Message) -> tuple[Any, ...]:
    calls = [
        (call.name, json.loads(call.arguments), call.status, call.written_as) for call in message.tool_calls
    ]
    return calls, message.content.strip(), message.malformed


def reads(format: str, text: str) -> Iterator[tuple[str, unspool.Message]]:
    """The message of a text at splits of each kind, and of its ids."""
    for pieces in byte_splits(text.encode()):
        yield f"split {pieces[:2]}", read(format, list(pieces))
    file = unspool.get_format(format)
    for file_end in (None, "</stop>"):
        tokenizer = marker_tokenizer(file, file_end)
        vocabulary = unspool.Vocabulary.from_tokenizer(tokenizer)
        yield "ids", read(format, tokenizer.encode(text, add_special_tokens=False).ids, tokenizer=vocabulary)


def problem(format: str, text: str, wanted: tuple[Any, ...]) -> str:
    for how, message in reads(format, text):
        if told(message) != wanted:
            return f"{how}: {text!r}: {told(message)}"
        if "".join(part for _, part in message.audit) != text:
            return f"{how}: {text!r}: audit {message.audit}"
    return ""


@pytest.mark.rest(but_one_in=10)
@pytest.mark.parametrize("format", list(SHIPPED))
def test_every_way_is_read(format: str) -> None:
    problems = []
    for way in ways(format):
        is_text = "bash" in way
        call = ("bash", {"command": "ls"}) if is_text else ("get_weather", ARGUMENTS)
        for before in ("", "Sure.\n"):
            wanted = ([(*call, "complete", None)], before.strip(), ())
            problems.append(problem(format, before + way, wanted))
    found = [text for text in problems if text]
    assert len(found) == KNOWN_FAILURES.get(format, 0), "\n".join(found)


@pytest.mark.rest(but_one_in=10)
@pytest.mark.parametrize("format", list(SHIPPED))
def test_text_and_calls_follow_the_arguments(format: str) -> None:
    call = ("get_weather", ARGUMENTS, "complete", None)
    problems = []
    for way in ways(format):
        if re.match(r"get_weather\s*{", way):
            problems.append(problem(format, f"{way}\nDone.", ([call], "Done.", ())))
            problems.append(problem(format, f"{way}\n{way}", ([call, call], "", ())))
    found = [text for text in problems if text]
    assert len(found) == KNOWN_FOLLOWED.get(format, 0), "\n".join(found)


@pytest.mark.parametrize("format", ["apertus", "cohere_command3", "inkling", "hermes"])
def test_an_object_with_the_familys_keys_in_a_fence(format: str) -> None:
    (way,) = ways(format)
    wanted = ([("get_weather", ARGUMENTS, "complete", None)], "Sure.", ())
    assert problem(format, f"Sure.\n```json\n{way}\n```", wanted) == ""


@pytest.mark.rest(but_one_in=10)
@pytest.mark.parametrize("format", list(SHIPPED))
def test_a_fork_and_a_snapshot_at_every_byte(format: str) -> None:
    text = f"Sure.\n{ways(format)[-1]}"
    options = {"start_in": "content", "unmarked_calls": True, "audit": True, "id_seed": 1}
    wanted = told(unspool.parse(text, format, TOOLS, **options))
    for cut in range(len(text)):
        parser = unspool.Parser(format, TOOLS, **options)
        parser.parse_chunk(text[:cut])
        restored = unspool.Parser.restore(parser.snapshot(), format, TOOLS, **options)
        for stream in (parser.fork(), restored, parser):
            stream.parse_chunk(text[cut:])
            message = stream.finish("stop")
            assert told(message) == wanted, cut
            assert "".join(part for _, part in message.audit) == text, cut


@pytest.mark.rest(but_one_in=10)
@pytest.mark.parametrize("format", list(SHIPPED))
@pytest.mark.parametrize(
    "text",
    [
        "get_weather is a tool.\nnow is another one.",
        "Look.\nget_weather\nnow\n",
        "get_weather: it takes a city.",
        "now (or later) I look.\nnow {see above} I go.",
        'I call get_weather{"city": "Paris"} then.',
        'unknown{"city": "Paris"}',
        'get_weather{"city": 5}',
        "get_weather{}",
        "nowhere{}",
        "now",
    ],
)
def test_a_mention_is_text(format: str, text: str) -> None:
    without = unspool.parse(text, format, TOOLS, start_in="content")
    assert not without.tool_calls
    assert problem(format, text, told(without)) == ""

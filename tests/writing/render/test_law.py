"""The law: what a format writes of a message is read as that message, or the message is refused with the reason.

A law that mostly refuses proves nothing, so refusals are counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

import pytest
import unspool
from hypothesis import given, settings
from unspool.testing import shipped_cases
from unspool.testing.marker_tokenizer import marker_tokenizer

from .messages import Message, is_same, messages, texts, tools_of

FORMATS = [file for file in unspool.formats() if file.has_tools or file.has_reasoning]
EXAMPLES = 40
#: The refusals in 100 messages by ids, by format; 10 in others. They may only become fewer.
BY_IDS = {
    "granite_pythonic": 35,  # the line break before a call is content
    "json": 35,  # likewise
    "xlam": 35,  # likewise
}
#: The refusals in 100 messages as text, by format; 35 in others. Half of the messages hold a marker.
AS_TEXT = {"cwm": 50, "deepseek_r1": 60, "kimi": 60}

Render = Callable[[Message], "str | list[int]"]
Read = Callable[["str | list[int]", Message], unspool.Message]


def refused_in_100(file: unspool.FormatFile, render: Render, read: Read) -> float:
    """How many of the messages are refused. All others are read as they were meant."""
    counts: Counter[str] = Counter()

    @settings(max_examples=EXAMPLES)
    @given(message=messages(file))
    def check(message: Message) -> None:
        counts["all"] += 1
        output, reason = None, ""
        try:
            output = render(message)
        except unspool.ArgumentError as error:
            reason = str(error)
        if output is None:
            assert reason.startswith(f"the format '{file.name}' cannot write ")
            counts["refused"] += 1
            return
        found = read(output, message)
        assert is_same(message, found), (message, output, found)

    check()
    return 100 * counts["refused"] / counts["all"]


@pytest.mark.rest(but_one_in=10)
@pytest.mark.filterwarnings("ignore:the content has")
@pytest.mark.parametrize("file", FORMATS, ids=lambda file: file.name)
def test_a_text_is_read_as_the_message(file: unspool.FormatFile) -> None:
    refused = refused_in_100(
        file,
        lambda message: file.render(message, tools=tools_of(message)),
        lambda text, message: unspool.parse(text, file, tools_of(message)),
    )
    assert refused <= AS_TEXT.get(file.name, 35)


@pytest.mark.rest(but_one_in=10)
@pytest.mark.filterwarnings("ignore:the content has")
@pytest.mark.parametrize("file", FORMATS, ids=lambda file: file.name)
def test_ids_are_read_as_the_message(file: unspool.FormatFile) -> None:
    tokenizer = marker_tokenizer(file)
    vocabulary = unspool.Vocabulary.from_tokenizer(tokenizer)

    def encode(text: str) -> list[int]:
        return list(tokenizer.encode(text, add_special_tokens=False).ids)

    refused = refused_in_100(
        file,
        lambda message: file.render_ids(message, vocabulary, encode, tools=tools_of(message)),
        lambda ids, message: unspool.parse(ids, file, tools_of(message), tokenizer=vocabulary),
    )
    assert refused <= BY_IDS.get(file.name, 10)


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("file", FORMATS, ids=lambda file: file.name)
def test_a_text_never_becomes_a_marker_token(file: unspool.FormatFile) -> None:
    """Of each marker token there are as many in a message that is full of them as in a plain one."""
    tokenizer = marker_tokenizer(file)
    vocabulary = unspool.Vocabulary.from_tokenizer(tokenizer)
    part = "reasoning" if file.has_reasoning else "content"

    @settings(max_examples=EXAMPLES)
    @given(text=texts(file).filter(str.strip))
    def check(text: str) -> None:
        counts = []
        for value in ("Paris", text):
            try:
                ids = file.render_ids(
                    {part: value}, vocabulary, lambda one: list(tokenizer.encode(one).ids), exact=False
                )
            except unspool.ArgumentError:
                return
            counts.append(Counter(id for id in ids if vocabulary.is_added(id)))
        assert counts[0] == counts[1]

    check()


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("file", FORMATS, ids=lambda file: file.name)
def test_what_was_parsed_is_written_and_read_again(file: unspool.FormatFile) -> None:
    """Every case of the format that ends well: what the parser made of it comes back."""
    written = refused = 0
    for case in shipped_cases():
        if case.format != file.name or set(case.options) - {"prompt"} or case.malformed:
            continue
        message = unspool.parse(case.input, file, case.tools, **case.options)
        if message.malformed or not all(call.is_complete for call in message.tool_calls):
            continue
        try:
            text = file.render(message, tools=case.tools, exact=False)
        except unspool.ArgumentError:
            refused += 1
            continue
        written += 1
        again = unspool.parse(text, file, case.tools, prompt=(*file.patterns.get("turn", ()), None)[0])
        assert [(call.name, json.loads(call.arguments)) for call in again.tool_calls] == [
            (call.name, json.loads(call.arguments)) for call in message.tool_calls
        ]
        assert (again.content.strip(), again.reasoning.strip()) == (
            message.content.strip(),
            message.reasoning.strip(),
        )
    assert written > 0
    assert refused <= max(1, written // 3)

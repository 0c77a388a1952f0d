"""Neither an audit nor labels change a message, also beyond `max_calls`, whatever passes by unread.

A stream with an audit reads each id, so it is the measure of the streams that do not.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from unspool import Message, Parser, TokenStreamer, get_format

from ..attack.chains import chain, draw_tools, draw_vocabulary
from .label_tokens import Tokens, cut

pytestmark = pytest.mark.filterwarnings("ignore:the content has")

RECORDS: list[dict[str, Any]] = [{"audit": True}, {"labels": True}, {"audit": True, "labels": True}]
OPTIONS: list[dict[str, Any]] = [
    {},
    {},
    {"white_space": "trim"},
    {"tool_calls_in_reasoning": "auto"},
    {"start_in": "reasoning"},
    {"repair": True},
    {"unknown_tools": "content"},
    {"trust": "text"},
]


def parts(message: Message) -> tuple[Any, ...]:
    return message.content, message.reasoning, message.tool_calls, message.malformed, message.finish_reason


def drawn(format: str, count: int) -> Iterator[tuple[Tokens, Any, dict[str, Any]]]:
    """Outputs with more calls than count, and what they are read with."""
    draw = random.Random(format)
    turns = get_format(format).patterns.get("turn", ("",))
    for _ in range(count):
        tools = draw_tools(draw)
        output = "".join(chain(format, tools, draw) for _ in range(draw.choice([1, 2, 3])))
        options = {"max_calls": draw.choice([1, 1, 2]), **draw.choice(OPTIONS)}
        if "start_in" not in options and draw.random() < 0.3:
            begun = chain(format, tools, draw)
            options["prompt"] = draw.choice(turns) + begun[: draw.randint(0, len(begun))]
        tokens = cut(format, output, lambda: draw.choice([1, 2, 3, 5, 9]), draw_vocabulary(format, draw))
        yield tokens, draw.choice([tools, tools, None]), options


def test_audit_and_labels_leave_the_message(format: str, thorough: bool) -> None:
    for tokens, tools, options in drawn(format, 1000 if thorough else 60):
        given = {"tokenizer": tokens.vocabulary, "id_seed": 1, **options}
        plain = Parser(format, tools, **given).parse(tokens.ids)
        streamer = TokenStreamer(tokens.vocabulary, format, tools, id_seed=1, **options)
        for id in tokens.ids:
            streamer.put(id)
        messages = [streamer.finish()]
        messages += [Parser(format, tools, **given, **records).parse(tokens.ids) for records in RECORDS]
        for message in messages:
            assert parts(message) == parts(plain), (options, b"".join(tokens.pieces))

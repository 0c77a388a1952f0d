"""Parses the kept answer again, for its message, its labels, and the region at its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from unspool._core import Detokenizer, Vocabulary
from unspool.core.stream.labels import REGIONS, Labels
from unspool.core.stream.message import Message
from unspool.errors import ArgumentError
from unspool.generation.bridging.bridge_request import Request
from unspool.streams.token_streamer import TokenStreamer

__all__ = ["Ended", "decode", "read_ended"]


@dataclass(frozen=True)
class Ended:
    """The answer and how it ended.

    Attributes:
        message: The answer as it was sent; its calls have the ids that the next messages refer to.
        end: The text that ended it, usually one token; "" if it has no end.
        region: The region that was open before the end.
    """

    message: Message
    labels: Labels
    end: str
    region: Literal["content", "reasoning", "tool_call"]


def read_ended(request: Request) -> Ended:
    """Parse the answer again.

    Raises:
        ArgumentError: A result refers to a call that the answer does not have.
    """
    answer = request.answer
    message = _parser(request).parse(answer)
    labels = message.labels
    assert labels is not None
    length = len(answer)
    while length and REGIONS[labels.regions[length - 1]] == "end":
        length -= 1
    open_parser = _parser(request)
    open_parser.parse_chunk(None, answer[:length])
    end = decode(request.vocabulary, answer[length:])
    return Ended(_with_ids(request, message), labels, end, open_parser.region)


def _parser(request: Request) -> TokenStreamer:
    parser = TokenStreamer(
        request.vocabulary, request.file, request.variables["tools"], prompt=request.prompt, labels=True
    )
    parser._tag_formats = None  # here a tag in the content does not mean that the prompt is missing
    return parser


def decode(vocabulary: Vocabulary, ids: Sequence[int]) -> str:
    """Decode ids, including special tokens."""
    detokenizer = Detokenizer(vocabulary, skip_special_tokens=False)
    return detokenizer.put(list(ids)) + detokenizer.end()


def _with_ids(request: Request, message: Message) -> Message:
    """Return the message with the call ids that the next messages use."""
    calls = message.tool_calls
    if request.message is not None:
        sent_calls = request.message.tool_calls
        if [call.name for call in sent_calls] != [call.name for call in calls]:
            raise ArgumentError("message has other calls than the ids; pass what was parsed from these ids")
        calls = tuple(replace(call, id=sent.id) for call, sent in zip(calls, sent_calls, strict=True))
    named = [result["tool_call_id"] for result in request.next_messages if result.get("tool_call_id")]
    unknown = [id for id in named if id not in {call.id for call in calls}]
    if unknown and request.message is None and len(calls) == 1 and len(set(named)) == 1:
        calls = (replace(calls[0], id=named[0]),)
    elif unknown and calls:
        raise ArgumentError(
            f"tool_call_id {unknown[0]!r} is none of the answer's calls; pass message=, the answer as it was sent"
        )
    return replace(message, tool_calls=calls)

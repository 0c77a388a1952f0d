"""A program of a user: type checkers find nothing in it (tests/test_typing.py)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import unspool

TOOLS: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}
]


def stream(chunks: list[str]) -> Iterator[bytes]:
    parser = unspool.Parser("hermes", TOOLS, stop=["###"], repair=True, tool_calls_in_reasoning="keep")
    writer = unspool.WireWriter("chat_completions", model="m", include_usage=True)
    yield writer.begin()
    for chunk in chunks:
        deltas: list[unspool.Delta] = parser.parse_chunk(chunk)
        yield writer.write(deltas)
        if parser.region == "tool_call":
            held, reason = parser.held
            print(len(held), reason.upper())
    copy = parser.fork()
    copy.finish("stop")
    message: unspool.Message = parser.finish("stop")
    yield writer.write(message.deltas) + writer.end({"completion_tokens": 3})
    for call in message.tool_calls:
        name: str = call.name
        arguments: dict[str, Any] = json.loads(call.arguments)
        print(name, arguments, call.status == "complete", [each.path for each in call.violations or ()])
    print(message.content, message.reasoning, message.finish_reason, message.to_openai())


def parse_wrongly(text: str) -> None:
    """The names and types of options are known wherever options are passed on."""
    if TYPE_CHECKING:  # type checkers alone read this; an ignored line without an error is one
        unspool.parse(text, "hermes", repare=True)  # type: ignore[call-arg]
        unspool.parse(text, "hermes", white_space="cut")  # type: ignore[arg-type]
        unspool.BatchParser("hermes", max_calls="3")  # type: ignore[arg-type]


def read_tokens(file: Path, ids: list[int]) -> str:
    vocabulary = unspool.Vocabulary.from_file(file)
    detokenizer = unspool.Detokenizer(vocabulary, stop="###")
    text = detokenizer.put(ids) + detokenizer.end()
    channel = unspool.DeltaChannel(maxsize=64)
    streamer = unspool.TokenStreamer(vocabulary, "qwen3", channel=channel, rollback_window=8)
    streamer.put(ids)
    streamer.end()
    for delta in channel:
        if delta.kind == "content":
            text += delta.text
    batch = unspool.StreamBatch(vocabulary, "qwen3")
    slot = batch.add(TOOLS, writer=unspool.WireWriter("messages", model="m"))
    result = batch.step([slot], [1])
    return text + result.sse(slot).decode()


async def consume(channel: unspool.DeltaChannel) -> list[str]:
    texts = [delta.text async for delta in channel]
    last: unspool.Delta | None = await channel.aget(timeout=1.0)
    return [*texts, str(last)]


def describe() -> dict[str, str]:
    file = unspool.get_format("hermes")
    events = unspool.ArgumentReader().put(unspool.Delta("tool_call_begin", index=0, name="f", id="1"))
    found = {file.name: file.notes, "paths": str([event.path for event in events])}
    for each in unspool.formats():
        found[each.name] = ", ".join(each.models)
    grammar = file.grammar(TOOLS, tool_choice="required")
    found["grammar"] = str(grammar.dropped)
    found["text"] = file.render({"role": "assistant", "content": "Hi"})
    return found


def parse_all(outputs: list[str]) -> list[str | None]:
    message = unspool.parse(outputs[0], "hermes", tools=TOOLS)
    try:
        messages = [message, *unspool.parse_batch(outputs, "hermes", tools=TOOLS)]
    except unspool.ArgumentError as error:
        print(error)
        return []
    except (unspool.FormatError, unspool.VocabularyError, unspool.StreamError):
        raise
    return [each.content for each in messages]


if __name__ == "__main__":
    print(b"".join(stream(["Hi"])), describe(), parse_all(["Hi"]))
    queue = unspool.DeltaChannel()
    queue.put_final(unspool.Delta("content", text="Hi"))
    print(asyncio.run(consume(queue)))

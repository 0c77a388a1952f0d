"""What the official SDKs assemble from a stream, in their strict helpers too, is the parser's message."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from unspool import Delta, Message, WireWriter
from unspool.testing import Case, pieces_of
from unspool.testing.wire import read_events

from .answers import body, each_case, parse, stream
from .sdk import client, import_sdk

Batches = list[list[Delta]]
MESSAGES = [{"role": "user", "content": "hi"}]


def splits(case: Case, request: pytest.FixtureRequest) -> list[list[bytes]]:
    """Whole, by bytes, and some random ones; the strict readers see every split."""
    data = case.input.encode()
    rng = random.Random(str(case))
    count = 100 if request.config.getoption("--thorough") else 2
    cuts = [[rng.randrange(len(data) + 1) for _ in range(6)] for _ in range(count)]
    return [[data], pieces_of(data, range(1, len(data))), *(pieces_of(data, each) for each in cuts)]


def runs(case: Case, request: pytest.FixtureRequest) -> list[tuple[Batches, Message]]:
    return [parse(case, pieces) for pieces in splits(case, request)]


def calls_of(message: Message) -> list[tuple[str, str, str]]:
    return [(call.id, call.name, call.arguments or "{") for call in message.tool_calls]


def is_whole(message: Message) -> bool:
    return all(call.is_complete for call in message.tool_calls)


def strict_tools(case: Case, kind: str) -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = []
    for tool in case.tools or ():
        function = {"name": tool["name"], "parameters": tool.get("parameters", {}), "strict": True}
        tools.append({"type": "function", **(function if kind == "responses" else {"function": function})})
    return tools


@pytest.mark.rest(but_one_in=5)
@each_case
def test_openai_chat_stream(case: Case, request: pytest.FixtureRequest) -> None:
    openai = import_sdk("openai")
    chunk_type = type_of("openai.types.chat", "ChatCompletionChunk")
    for batches, message in runs(case, request):
        wire = stream("chat_completions", batches, include_usage=True)
        for _, data in read_events(wire)[:-1]:
            chunk_type.model_validate(data)
        made = client(openai, openai.OpenAI, wire)
        # The helper raises where an answer was cut off and tools were given; it parses strict tools' calls.
        options: dict[str, Any] = {}
        if is_whole(message) and message.finish_reason != "length" and case.tools:
            options["tools"] = strict_tools(case, "chat")
        events: list[Any] = []
        with made.chat.completions.stream(model="m", messages=MESSAGES, **options) as helper:
            events.extend(helper)
            snapshot = helper.current_completion_snapshot
            if message.finish_reason != "length":
                snapshot = helper.get_final_completion()
        (choice,) = snapshot.choices
        assert (choice.message.content or "") == message.content
        assert getattr(choice.message, "reasoning_content", "") == message.reasoning
        found = [(c.id, c.function.name, c.function.arguments) for c in choice.message.tool_calls or ()]
        assert found == calls_of(message)
        assert choice.finish_reason == (
            "length" if message.finish_reason == "length" else message.finish_reason
        )
        assert snapshot.usage.total_tokens == 0
        done = [event for event in events if event.type == "tool_calls.function.arguments.done"]
        assert [(event.name, event.arguments) for event in done] == [call[1:] for call in calls_of(message)]
        for event in done:
            if options and event.name in {tool["name"] for tool in case.tools or ()}:
                assert event.parsed_arguments == json.loads(event.arguments)


@pytest.mark.rest(but_one_in=5)
@each_case
def test_openai_responses_stream(case: Case, request: pytest.FixtureRequest) -> None:
    openai = import_sdk("openai")
    pydantic = pytest.importorskip("pydantic")
    event_type = pydantic.TypeAdapter(type_of("openai.types.responses", "ResponseStreamEvent"))
    for number, (batches, message) in enumerate(runs(case, request)):
        summary = "summary" if number == 1 else "text"
        wire = stream("responses", batches, reasoning_events=summary)
        for _, data in read_events(wire):
            event_type.validate_python(data)
        made = client(openai, openai.OpenAI, wire)
        options = {"tools": strict_tools(case, "responses")} if is_whole(message) and case.tools else {}
        texts: dict[str, str] = {}
        with made.responses.stream(model="m", input="hi", **options) as helper:
            for event in helper:
                if event.type.endswith(".delta"):
                    kind = event.type.split(".")[1]
                    texts[kind] = texts.get(kind, "") + event.delta
                    if event.type == "response.output_text.delta":
                        assert event.snapshot.endswith(event.delta)
            if event.type == "response.completed":
                response = helper.get_final_response()
            else:
                assert event.type == "response.incomplete"
                response = event.response
        assert response.output_text == message.content == texts.get("output_text", "")
        reasoning = "reasoning_summary_text" if summary == "summary" else "reasoning_text"
        assert texts.get(reasoning, "") == message.reasoning
        calls = [item for item in response.output if item.type == "function_call"]
        assert [(item.call_id, item.name, item.arguments) for item in calls] == calls_of(message)
        assert [item.status == "completed" for item in calls] == [c.is_complete for c in message.tool_calls]
        assert response.status == ("incomplete" if message.finish_reason == "length" else "completed")
        parts = [
            part.text
            for item in response.output
            if item.type == "reasoning"
            for part in (item.summary or item.content)
        ]
        assert "".join(parts) == message.reasoning


@pytest.mark.rest(but_one_in=5)
@each_case
def test_anthropic_messages_stream(case: Case, request: pytest.FixtureRequest) -> None:
    anthropic = import_sdk("anthropic")
    pydantic = pytest.importorskip("pydantic")
    event_type = pydantic.TypeAdapter(type_of("anthropic.types", "RawMessageStreamEvent"))
    for batches, message in runs(case, request):
        wire = stream("messages", batches)
        for _, data in read_events(wire):
            event_type.validate_python(data)
        made = client(anthropic, anthropic.Anthropic, wire)
        arguments: dict[int, str] = {}
        with made.messages.stream(model="m", max_tokens=10, messages=MESSAGES) as helper:
            for event in helper:
                if event.type == "content_block_delta" and event.delta.type == "input_json_delta":
                    arguments[event.index] = arguments.get(event.index, "") + event.delta.partial_json
            final = helper.get_final_message()
        texts = [block.text for block in final.content if block.type == "text"]
        assert "".join(texts) == message.content
        thoughts = [block.thinking for block in final.content if block.type == "thinking"]
        assert "".join(thoughts) == message.reasoning
        blocks = [(i, block) for i, block in enumerate(final.content) if block.type == "tool_use"]
        assert [(block.id, block.name, arguments[i]) for i, block in blocks] == calls_of(message)
        for (_, block), call in zip(blocks, message.tool_calls, strict=True):
            if call.is_complete:
                assert block.input == json.loads(call.arguments)
        expected = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}
        assert final.stop_reason == expected[str(message.finish_reason)]


@each_case
def test_openai_completions_stream(case: Case, request: pytest.FixtureRequest) -> None:
    openai = import_sdk("openai")
    for batches, message in runs(case, request):
        made = client(openai, openai.OpenAI, stream("completions", batches))
        chunks = list(made.completions.create(model="m", prompt="x", stream=True))
        assert "".join(chunk.choices[0].text for chunk in chunks) == message.content
        assert [chunk.choices[0].finish_reason for chunk in chunks[:-1]] == [None] * (len(chunks) - 1)


@each_case
def test_bodies(case: Case) -> None:
    """The responses in one piece, through the same clients, with every field of their models."""
    openai, anthropic = import_sdk("openai"), import_sdk("anthropic")
    batches, message = parse(case, [case.input])

    wire = body("chat_completions", batches)
    type_of("openai.types.chat", "ChatCompletion").model_validate_json(wire)
    made = client(openai, openai.OpenAI, wire, sse=False)
    (choice,) = made.chat.completions.create(model="m", messages=MESSAGES).choices
    assert (choice.message.content or "") == message.content
    found = [(c.id, c.function.name, c.function.arguments) for c in choice.message.tool_calls or ()]
    assert found == calls_of(message)
    assert choice.finish_reason == message.finish_reason

    wire = body("completions", batches)
    type_of("openai.types", "Completion").model_validate_json(wire)
    assert json.loads(wire)["choices"][0]["text"] == message.content

    wire = body("responses", batches)
    type_of("openai.types.responses", "Response").model_validate_json(wire)
    response = client(openai, openai.OpenAI, wire, sse=False).responses.create(model="m", input="hi")
    assert response.output_text == message.content
    streamed = read_events(stream("responses", batches))[-1][1]["response"]
    assert json.loads(wire) == streamed

    wire = body("messages", batches)
    type_of("anthropic.types", "Message").model_validate_json(wire)
    made = client(anthropic, anthropic.Anthropic, wire, sse=False)
    final = made.messages.create(model="m", max_tokens=10, messages=MESSAGES)
    assert "".join(block.text for block in final.content if block.type == "text") == message.content
    inputs = [block.input for block in final.content if block.type == "tool_use"]
    is_cut = message.finish_reason == "length"
    shown = [call for call in message.tool_calls if call.is_complete or is_cut]
    assert inputs == [json.loads(call.arguments) if call.is_complete else {} for call in shown]


def test_two_answers_in_the_chat_helper() -> None:
    openai = import_sdk("openai")
    deltas = [
        Delta("content", text="b", choice=1),
        Delta("tool_call_begin", index=0, id="call_b", name="f", choice=1),
        Delta("content", text="a"),
        Delta("tool_call_begin", index=0, id="call_a", name="g"),
        Delta("tool_call_arguments", index=0, text="{}", choice=1),
        Delta("tool_call_arguments", index=0, text='{"x": 1}'),
        Delta("finish", finish_reason="tool_calls"),
        Delta("finish", finish_reason="length", choice=1),
    ]
    made = client(openai, openai.OpenAI, stream("chat_completions", [[d] for d in deltas], n=2))
    with made.chat.completions.stream(model="m", messages=MESSAGES, n=2) as helper:
        helper.until_done()
        first, second = helper.current_completion_snapshot.choices
    assert (first.message.content, second.message.content) == ("a", "b")
    assert first.message.tool_calls[0].function.arguments == '{"x": 1}'
    assert second.message.tool_calls[0].id == "call_b"
    assert (first.finish_reason, second.finish_reason) == ("tool_calls", "length")


@pytest.mark.parametrize("has_begun", [True, False])
def test_a_failure_is_the_clients_error(has_begun: bool) -> None:
    """Each SDK raises, with the message, whenever the failure comes; comments and pings are skipped."""
    openai, anthropic = import_sdk("openai"), import_sdk("anthropic")

    def wire(protocol: str) -> bytes:
        writer = WireWriter(protocol, model="m")
        start = writer.keep_alive() + writer.write(Delta("content", text="x")) if has_begun else b""
        return start + writer.keep_alive() + writer.fail("no memory left")

    made = client(openai, openai.OpenAI, wire("chat_completions"))
    with pytest.raises(openai.APIError, match="no memory left"):
        list(made.chat.completions.create(model="m", messages=MESSAGES, stream=True))
    made = client(openai, openai.OpenAI, wire("completions"))
    with pytest.raises(openai.APIError, match="no memory left"):
        list(made.completions.create(model="m", prompt="x", stream=True))
    made = client(anthropic, anthropic.Anthropic, wire("messages"))
    with pytest.raises(anthropic.APIError, match="no memory left"):
        list(made.messages.create(model="m", max_tokens=1, messages=MESSAGES, stream=True))
    made = client(openai, openai.OpenAI, wire("responses"))
    with made.responses.stream(model="m", input="hi") as helper:
        events = list(helper)
        assert [event.type for event in events[-2:]] == ["error", "response.failed"]
        assert events[-1].response.error.message == "no memory left"
        with pytest.raises(RuntimeError, match=r"response\.completed"):
            helper.get_final_response()


def test_logprobs_reach_the_helper() -> None:
    openai = import_sdk("openai")
    writer = WireWriter("chat_completions", model="m")
    writer.add_logprobs(0, [("a", -0.5, [("a", -0.5), ("b", -1.0)]), ("b", -0.25)])
    wire = writer.write(Delta("content", text="a", token_span=(0, 1)))
    wire += writer.write(
        [Delta("content", text="b", token_span=(1, 2)), Delta("finish", finish_reason="stop")]
    )
    with client(openai, openai.OpenAI, wire + writer.end()).chat.completions.stream(
        model="m", messages=MESSAGES
    ) as helper:
        entries = helper.get_final_completion().choices[0].logprobs.content
    assert [(entry.token, entry.logprob, entry.bytes) for entry in entries] == [
        ("a", -0.5, [97]),
        ("b", -0.25, [98]),
    ]
    assert [rival.token for rival in entries[0].top_logprobs] == ["a", "b"]


def type_of(module: str, name: str) -> Any:
    """A type of an SDK."""
    import_sdk(module.split(".", maxsplit=1)[0])
    return getattr(__import__(module, fromlist=[name]), name)

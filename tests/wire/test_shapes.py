"""What exactly is written: golden sequences, finish reasons, log-probabilities, errors, arguments."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from unspool import Delta, DeltaChannel, WireWriter
from unspool.errors import ArgumentError, ChannelCancelledError, StreamError
from unspool.testing.wire import read_events

from .answers import PROTOCOLS, body, each_protocol, stream

ANSWER = [
    Delta("reasoning", text="hm", token_span=(0, 2)),
    Delta("content", text="Hi", token_span=(2, 4)),
    Delta("tool_call_begin", index=0, id="call_a", name="f", token_span=(4, 6)),
    Delta("tool_call_arguments", index=0, text='{"x":', token_span=(6, 7)),
    Delta("tool_call_arguments", index=0, text=" 1}", token_span=(7, 8)),
    Delta("tool_call_end", index=0, status="complete", token_span=(8, 9)),
    Delta("tool_call_begin", index=1, id="call_b", name="g", token_span=(9, 10)),
    Delta("tool_call_arguments", index=1, text="{}", token_span=(10, 11)),
    Delta("tool_call_end", index=1, status="complete", token_span=(11, 12)),
]
BATCHES = [[delta] for delta in [*ANSWER, Delta("finish", finish_reason="tool_calls", token_span=(12, 13))]]
CUT = [
    [Delta("content", text="Hi", token_span=(0, 1))],
    [Delta("tool_call_begin", index=0, id="call_a", name="f", token_span=(1, 2))],
    [Delta("tool_call_arguments", index=0, text='{"x', token_span=(2, 3))],
    [Delta("tool_call_end", index=0, status="incomplete", token_span=(3, 3))],
    [Delta("finish", finish_reason="length", token_span=(3, 3))],
]


def names(wire: bytes) -> list[str | None]:
    return [name for name, _ in read_events(wire)]


def data_of(wire: bytes) -> list[Any]:
    return [data for _, data in read_events(wire) if data != "[DONE]"]


def test_responses_sequence() -> None:
    item = ["response.output_item.added", "response.content_part.added"]
    part = ["response.content_part.done", "response.output_item.done"]
    call = ["response.output_item.added", "response.function_call_arguments.delta"]
    called = ["response.function_call_arguments.done", "response.output_item.done"]
    wire = stream("responses", BATCHES)
    assert names(wire) == [
        "response.created",
        "response.in_progress",
        "response.output_item.added", "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.delta", "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.done", "response.output_item.done",
        *item, "response.output_text.delta", "response.output_text.done", *part,
        *call, "response.function_call_arguments.delta", *called,
        *call, *called,
        "response.completed",
    ]  # fmt: skip
    final = data_of(wire)[-1]["response"]
    assert [item["id"] for item in final["output"]] == ["rs_1_0", "msg_1_1", "fc_1_2", "fc_1_3"]
    assert final["output"][0]["summary"] == [{"type": "summary_text", "text": "hm"}]
    assert final["usage"]["output_tokens"] == 13, "counted from the spans"


def test_responses_sequence_with_reasoning_text_and_a_cut_call() -> None:
    wire = stream("responses", [[Delta("reasoning", text="hm")], *CUT], reasoning_events="text")
    assert names(wire) == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.reasoning_text.delta",
        "response.reasoning_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.output_item.done",
        "response.incomplete",
    ]
    final = data_of(wire)[-1]["response"]
    assert final["incomplete_details"] == {"reason": "max_output_tokens"}
    reasoning, text, call = final["output"]
    assert reasoning["summary"] == []
    assert reasoning["content"] == [{"type": "reasoning_text", "text": "hm"}]
    assert (text["status"], call["status"], call["arguments"]) == ("completed", "incomplete", '{"x')


def test_messages_sequence() -> None:
    start, delta, stop = "content_block_start", "content_block_delta", "content_block_stop"
    wire = stream("messages", BATCHES, prompt_token_count=5)
    assert names(wire) == [
        "message_start",
        start, delta, delta, stop,  # thinking and its signature
        start, delta, stop,
        start, delta, delta, stop,
        start, delta, stop,
        "message_delta", "message_stop",
    ]  # fmt: skip
    events = data_of(wire)
    assert events[0]["message"]["usage"] == {"input_tokens": 5, "output_tokens": 0}
    assert events[-2]["usage"] == {"input_tokens": 5, "output_tokens": 13}
    assert names(stream("messages", CUT))[-4:] == [delta, stop, "message_delta", "message_stop"]


def test_a_dropped_call_ends_a_block() -> None:
    batch = [
        Delta("content", text="a"),
        Delta("dropped", text="<raw>", reason="unknown tool"),
        Delta("content", text="b"),
        Delta("finish", finish_reason="stop"),
    ]
    assert names(stream("messages", [batch])).count("content_block_start") == 2
    assert [item["content"][0]["text"] for item in json.loads(body("responses", [batch]))["output"]] == [
        "a",
        "b",
    ]
    (_, chunk, _) = data_of(stream("chat_completions", [batch]))
    assert chunk["choices"][0]["delta"] == {"content": "ab"}


def test_malformed_text_is_content_where_no_call_was_announced() -> None:
    batch = [
        Delta("malformed", text="<tool_call>{", reason="no name"),
        Delta("tool_call_begin", index=0, id="c", name="f"),
        Delta("malformed", text="?}", index=0, reason="a bracket"),
        Delta("tool_call_end", index=0, status="malformed"),
        Delta("finish", finish_reason="stop"),
    ]
    message = json.loads(body("chat_completions", [batch]))["choices"][0]["message"]
    assert message["content"] == "<tool_call>{"
    assert message["tool_calls"][0]["function"]["arguments"] == "{", "not empty, which clients run as {}"
    blocks = json.loads(body("messages", [batch]))["content"]
    assert [block["type"] for block in blocks] == ["text"], "a broken call has no words there"
    cut = [*batch[:-1], Delta("finish", finish_reason="length")]
    assert json.loads(body("messages", [cut]))["content"][1]["input"] == {}


def test_a_call_never_ends_without_arguments() -> None:
    for status, expected in (("complete", "{}"), ("incomplete", "{"), ("malformed", "{")):
        begin = Delta("tool_call_begin", index=0, id="c", name="f")
        end = Delta("tool_call_end", index=0, status=status)
        wire = stream("chat_completions", [[begin, end, Delta("finish", finish_reason="stop")]])
        (entry,) = data_of(wire)[1]["choices"][0]["delta"]["tool_calls"]
        assert entry["function"] == {"name": "f", "arguments": expected}


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("stop", ["stop", "stop", "completed", "end_turn", "stop", "STOP"]),
        ("length", ["length", "length", "incomplete", "max_tokens", "length", "MAX_TOKENS"]),
        ("tool_calls", ["tool_calls", "stop", "completed", "tool_use", "tool_calls", "STOP"]),
        ("error", ["length", "length", "failed", "max_tokens", "error", "OTHER"]),
        ("cancelled", ["length", "length", "incomplete", "max_tokens", "cancelled", "OTHER"]),
    ],
)
def test_finish_reasons(reason: str, words: list[str]) -> None:
    batches = [[Delta("content", text="x")], [Delta("finish", finish_reason=reason)]]
    found: list[str] = []
    for protocol in PROTOCOLS:
        last = data_of(stream(protocol, batches))
        whole = json.loads(body(protocol, batches))
        if protocol == "responses":
            found.append(last[-1]["response"]["status"])
            assert whole["status"] == found[-1]
        elif protocol == "messages":
            found.append(last[-2]["delta"]["stop_reason"])
            assert whole["stop_reason"] == found[-1]
        elif protocol == "open_inference":
            found.append(last[-1]["parameters"]["finish_reason"])
            assert whole["parameters"]["finish_reason"] == found[-1]
        elif protocol == "google":
            found.append(last[-1]["candidates"][0]["finishReason"])
            assert whole["candidates"][0]["finishReason"] == found[-1]
        else:
            found.append(last[-1]["choices"][0]["finish_reason"])
            assert whole["choices"][0]["finish_reason"] == found[-1]
    assert found == words


def test_a_stop_string_is_sent_in_messages() -> None:
    for reason, stop_reason, told in (("stop", "stop_sequence", "###"), ("tool_calls", "tool_use", None)):
        writer = WireWriter("messages", model="m")
        writer.write(Delta("finish", finish_reason=reason))
        delta = data_of(writer.end(stop_sequence="###"))[0]["delta"]
        assert delta == {"stop_reason": stop_reason, "stop_sequence": told}


def test_a_chunks_delta_is_what_to_openai_gives() -> None:
    for field in ("reasoning_content", "reasoning"):
        writer = WireWriter("chat_completions", model="m", reasoning_field=field)
        writer.begin()
        for delta in ANSWER:
            chunks = data_of(writer.write(delta))
            own = Delta("reasoning", text="hm", reasoning_field=field) if delta.kind == "reasoning" else delta
            assert [chunk["choices"][0]["delta"] for chunk in chunks] == [own.to_openai()] * len(chunks)
            assert len(chunks) == bool(own.to_openai())


def test_usage() -> None:
    usage = {
        "prompt_tokens": 7,
        "completion_tokens": 3,
        "cached_tokens": 2,
        "reasoning_tokens": 1,
        "speed": 1.5,
    }
    found: list[Any] = []
    for protocol in PROTOCOLS:
        writer = WireWriter(protocol, model="m", include_usage=True)
        writer.write(Delta("finish", finish_reason="stop"))
        last = data_of(writer.end(usage))
        response = last[-1].get("response", last[-2] if protocol == "messages" else last[-1])
        found.append(
            response[{"open_inference": "parameters", "google": "usageMetadata"}.get(protocol, "usage")]
        )
    chat = {
        "prompt_tokens": 7,
        "completion_tokens": 3,
        "total_tokens": 10,
        "prompt_tokens_details": {"cached_tokens": 2},
        "completion_tokens_details": {"reasoning_tokens": 1},
        "speed": 1.5,
    }
    assert found[:2] == [chat, chat]
    assert found[2] == {
        "input_tokens": 7,
        "input_tokens_details": {"cache_write_tokens": 0, "cached_tokens": 2},
        "output_tokens": 3,
        "output_tokens_details": {"reasoning_tokens": 1},
        "total_tokens": 10,
        "speed": 1.5,
    }
    assert found[3] == {"input_tokens": 5, "cache_read_input_tokens": 2, "output_tokens": 3, "speed": 1.5}
    assert found[4]["total_tokens"] == 10
    assert found[5] == {
        "promptTokenCount": 7,
        "cachedContentTokenCount": 2,
        "candidatesTokenCount": 2,
        "thoughtsTokenCount": 1,
        "totalTokenCount": 10,
        "speed": 1.5,
    }


LOGPROBS: list[Any] = [(chr(97 + i), -i / 4, [(chr(97 + i), -i / 4), (b"\xff", -9.0)]) for i in range(13)]


def test_logprobs_of_a_chunk_are_those_of_its_span() -> None:
    """Each token's once and in order; those of a delta that shows nothing go with the next chunk."""
    writer = WireWriter("chat_completions", model="m")
    writer.begin()
    writer.add_logprobs(0, LOGPROBS)
    tokens = []
    for batch in BATCHES:
        for chunk in data_of(writer.write(batch)):
            entries = chunk["choices"][0]["logprobs"]["content"]
            tokens.append("".join(entry["token"] for entry in entries))
    assert tokens == ["ab", "cd", "ef", "g", "h", "ij", "k", "lm"]
    last = entries[-1]
    assert last["bytes"] == [109]
    assert last["top_logprobs"][1] == {"token": "\ufffd", "bytes": [255], "logprob": -9.0}
    whole = WireWriter("chat_completions", model="m", stream=False)
    whole.add_logprobs(0, LOGPROBS)
    for batch in BATCHES:
        whole.write(batch)
    found = json.loads(whole.body())["choices"][0]["logprobs"]["content"]
    assert "".join(entry["token"] for entry in found) == "abcdefghijklm"


def test_logprobs_of_completions() -> None:
    deltas = [
        Delta("content", text="aü", token_span=(0, 2)),
        Delta("content", text="b", token_span=(2, 3)),
        Delta("finish", finish_reason="stop", token_span=(3, 4)),
    ]
    writer = WireWriter("completions", model="m")
    writer.add_logprobs(
        0, [("a", -1.0), ("ü", -2.0), ("b", -3, [("c", -1), (b"c", -2)]), ("</s>", float("-inf"))]
    )
    chunks = [chunk["choices"][0]["logprobs"] for d in deltas for chunk in data_of(writer.write(d))]
    assert chunks == [
        {
            "tokens": ["a", "ü"],
            "token_logprobs": [-1, -2],
            "top_logprobs": [{"a": -1}, {"ü": -2}],
            "text_offset": [0, 1],
        },
        {"tokens": ["b"], "token_logprobs": [-3], "top_logprobs": [{"c": -1, "b": -3}], "text_offset": [2]},
        {
            "tokens": ["</s>"],
            "token_logprobs": [-9999],
            "top_logprobs": [{"</s>": -9999}],
            "text_offset": [3],
        },
    ]


def test_logprobs_of_responses_are_those_of_text() -> None:
    writer = WireWriter("responses", model="m")
    writer.add_logprobs(0, LOGPROBS)
    events = [data for batch in BATCHES for data in data_of(writer.write(batch))]
    events += data_of(writer.end())
    told = [
        (event["type"], "".join(entry["token"] for entry in event["logprobs"]))
        for event in events
        if "logprobs" in event
    ]
    assert told == [("response.output_text.delta", "cd"), ("response.output_text.done", "cd")]
    (text,) = [item for item in events[-1]["response"]["output"] if item["type"] == "message"]
    assert [entry["token"] for entry in text["content"][0]["logprobs"]] == ["c", "d"]
    whole = WireWriter("responses", model="m", stream=False)
    whole.add_logprobs(0, LOGPROBS)
    for batch in BATCHES:
        whole.write(batch)
    (item,) = [item for item in json.loads(whole.body())["output"] if item["type"] == "message"]
    assert item["content"] == text["content"]


@pytest.mark.parametrize("protocol", ["messages", "open_inference"])
def test_protocols_without_logprobs_ignore_them(protocol: str) -> None:
    writer = WireWriter(protocol, model="m")
    writer.add_logprobs(0, LOGPROBS)
    wire = b"".join(writer.write(batch) for batch in BATCHES) + writer.end()
    assert b"logprob" not in wire


@each_protocol
def test_json_lines(protocol: str) -> None:
    """Without server-sent events: the same objects, a line each, no end mark, no comments; of google, an array."""
    framed = stream(protocol, BATCHES, include_usage=True)
    lines = stream(protocol, BATCHES, include_usage=True, sse=False)
    if protocol == "google":
        assert json.loads(lines) == data_of(framed)
        return
    assert [json.loads(line) for line in lines.splitlines()] == data_of(framed)
    writer = WireWriter(protocol, model="m", sse=False)
    assert writer.keep_alive() == b""


def test_end_marks_and_keep_alives() -> None:
    for protocol in PROTOCOLS:
        has_mark = protocol in ("chat_completions", "completions")
        assert stream(protocol, BATCHES).endswith(b"data: [DONE]\n\n") == has_mark
        alive = WireWriter(protocol, model="m").keep_alive()
        # Google's SDK for Python takes a comment for a response.
        others = {"messages": b'event: ping\ndata: {"type":"ping"}\n\n', "google": b"\n\n"}
        assert alive == others.get(protocol, b": keep-alive\n\n")


@each_protocol
def test_failures(protocol: str) -> None:
    for begun in (True, False):
        writer = WireWriter(protocol, model="m")
        if begun:
            writer.write(Delta("content", text="x"))
        wire = writer.fail("out of memory", type="server_error", code="oom")
        assert b"[DONE]" not in wire
        assert b"out of memory" in wire
        last = data_of(wire)[-1]
        if protocol == "open_inference":
            assert last["parameters"] == {"event": "error"}
            assert json.loads(last["outputs"][0]["data"][0])["message"] == "out of memory"
        with pytest.raises(StreamError, match="has ended; create a new WireWriter"):
            writer.write(Delta("content", text="x"))
    whole = WireWriter(protocol, model="m", stream=False)
    error = json.loads(whole.fail("out of memory"))["error"]
    assert error == "out of memory" or error["message"] == "out of memory"


def test_a_failed_response_holds_what_was_sent() -> None:
    writer = WireWriter("responses", model="m")
    writer.write(BATCHES[0])
    writer.write(BATCHES[1])
    failed = data_of(writer.fail("no memory"))[-1]["response"]
    assert failed["status"] == "failed"
    assert failed["error"] == {"code": "server_error", "message": "no memory"}
    assert [item["status"] for item in failed["output"]] == ["completed", "incomplete"]
    assert failed["output"][1]["content"][0]["text"] == "Hi"


def test_extra_members() -> None:
    extra = {"system_fingerprint": "fp", "note": "a\u2028b", "nested": {"list": [1, None, True, 0.5]}}
    for protocol in ("chat_completions", "completions", "open_inference", "google"):
        for chunk in data_of(stream(protocol, BATCHES, extra=extra)):
            assert {name: chunk[name] for name in extra} == extra
    tools = [{"type": "function", "name": "f", "parameters": {}}]
    events = data_of(stream("responses", BATCHES, extra={"tools": tools, "temperature": 0.5}))
    for response in (events[0]["response"], events[-1]["response"]):
        assert (response["tools"], response["temperature"]) == (tools, 0.5)
        assert (response["tool_choice"], response["parallel_tool_calls"]) == ("auto", True)
    assert data_of(stream("messages", BATCHES, extra={"x": 1}))[0]["message"]["x"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"protocol": "chat"}, "protocol is 'chat'; use one of " + ", ".join(PROTOCOLS)),
        ({"n": 0}, "n is 0"),
        ({"n": -1}, "n is negative"),
        ({"protocol": "messages", "n": 2}, "messages has one answer"),
        ({"protocol": "responses", "n": 2}, "responses has one answer"),
        ({"reasoning_field": "thoughts"}, "reasoning_field is 'thoughts'"),
        ({"reasoning_events": "both"}, "reasoning_events is 'both'; use 'summary' or 'text'"),
        ({"prompt_token_count": -1}, "prompt_token_count is negative"),
        ({"created": -1}, "created is negative"),
        ({"extra": {"id": "x"}}, "extra sets 'id'"),
        ({"extra": [1]}, "extra is not a JSON object"),
        ({"model": "\ud800"}, "lone surrogate"),
    ],
)
def test_bad_options(arguments: dict[str, Any], message: str) -> None:
    options = {"protocol": "chat_completions", "model": "m", **arguments}
    with pytest.raises(ArgumentError, match=message):
        WireWriter(options.pop("protocol"), **options)


def test_bad_calls() -> None:
    writer = WireWriter("chat_completions", model="m", n=2)
    for bad in ("text", 1, [Delta("content", text="x"), "text"], None):
        with pytest.raises(TypeError, match="Delta"):
            writer.write(bad)  # type: ignore[arg-type]
    begin = Delta("tool_call_begin", index=0, id="c", name="f")
    for batch, message in [
        ([Delta("content", text="x", choice=2)], "n is 2; pass n=3"),
        ([Delta("tool_call_begin", index=1, id="c", name="f")], "the next is 0"),
        ([begin, Delta("content", text="x"), Delta("tool_call_end", index=0, status="complete")], "not open"),
        ([Delta("finish", finish_reason="stop"), Delta("content", text="x")], "one finish, last"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            writer.write(batch)
        assert not writer.has_begun, "nothing has changed"
    with pytest.raises(StreamError, match="choice 0 has not finished"):
        writer.end()
    with pytest.raises(StreamError, match="pass stream=False"):
        writer.body()
    with pytest.raises(StreamError, match="call body"):
        WireWriter("completions", model="m", stream=False).end()
    writer.write([Delta("finish", finish_reason="stop", choice=choice) for choice in (0, 1)])
    for usage, message in (
        ({"prompt_tokens": -1}, r"usage\['prompt_tokens'\] is negative"),
        ({"total_tokens": 3}, "usage has 'total_tokens'"),
    ):
        with pytest.raises(ArgumentError, match=message):
            writer.end(usage)
    with pytest.raises(TypeError, match="pass an int"):
        writer.end({"prompt_tokens": 1.5})
    with pytest.raises(ArgumentError, match="NaN or above 0"):
        writer.add_logprobs(0, [("a", 0.5)])
    with pytest.raises(ArgumentError, match="n is 2"):
        writer.add_logprobs(2, [("a", -0.5)])
    with pytest.raises(ArgumentError, match=r"pass \(token, logprob\)"):
        writer.add_logprobs(0, [("a",)])  # type: ignore[list-item]
    writer.end()
    assert writer.has_ended
    with pytest.raises(StreamError, match="has ended"):
        writer.keep_alive()


@each_protocol
def test_drain_writes_what_a_channel_has_ready(protocol: str) -> None:
    channel = DeltaChannel()
    writer = WireWriter(protocol, model="m", id="resp_1", created=1)
    wire = writer.begin() + writer.drain(channel)
    assert wire == WireWriter(protocol, model="m", id="resp_1", created=1).begin()
    channel.put_many(delta for batch in BATCHES for delta in batch)
    channel.close()
    wire += writer.drain(channel)
    assert channel.is_finished
    assert writer.drain(channel) == b""
    one_batch = [[delta for batch in BATCHES for delta in batch]]
    assert wire + writer.end() == stream(protocol, one_batch, model="m")


def test_drain_raises_the_producers_error() -> None:
    channel = DeltaChannel()
    writer = WireWriter("completions", model="m")
    channel.put(Delta("content", text="x"))
    channel.fail(KeyError("gone"))
    assert writer.drain(channel)
    with pytest.raises(KeyError, match="gone"):
        writer.drain(channel)
    cancelled = DeltaChannel()
    cancelled.cancel()
    with pytest.raises(ChannelCancelledError):
        writer.drain(cancelled)
    with pytest.raises(TypeError):
        writer.drain([])  # type: ignore[arg-type]


def test_a_writer_is_live() -> None:
    writer = WireWriter("messages", model="m")
    assert writer.id.startswith("msg_")
    assert writer.id != WireWriter("messages", model="m").id
    assert writer.protocol == "messages"
    assert writer.created > 1_700_000_000
    for act in (copy.copy, pickle.dumps):
        with pytest.raises(TypeError, match=r"cannot be copied or pickled.*fork"):
            act(writer)
    assert writer.write([]) == b""
    assert not writer.has_begun
    writer.begin()
    with pytest.raises(StreamError, match="begin was called before"):
        writer.begin()
    assert writer.write(iter([Delta("content", text="x")]))

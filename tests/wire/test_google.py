"""Google's generateContent: whole calls, calls whose values stream, broken ones, candidates, errors."""

from __future__ import annotations

import json
from typing import Any

import pytest
from unspool import ArgumentError, Delta, Parser, WireWriter
from unspool.testing import Case
from unspool.testing.wire import assemble, read_events

from .answers import body, one_case_in_three, parse, stream

CALL = [
    Delta("tool_call_begin", index=0, id="call_a", name="f", token_span=(0, 1)),
    Delta("tool_call_arguments", index=0, text='{"x":\n [1, "a\u2028', token_span=(1, 2)),
    Delta("tool_call_arguments", index=0, text='b"], "y": {"z": null, "d\\"\'e": true}}', token_span=(2, 3)),
    Delta("tool_call_end", index=0, status="complete", token_span=(3, 4)),
]
ARGUMENTS = {"x": [1, "a\u2028b"], "y": {"z": None, "d\"'e": True}}
DONE = Delta("finish", finish_reason="tool_calls", token_span=(4, 5))


def responses(wire: bytes) -> list[Any]:
    return [data for _, data in read_events(wire)]


def parts(wire: bytes) -> list[Any]:
    return [part for one in responses(wire) for part in one["candidates"][0]["content"]["parts"]]


def test_a_call_is_one_part() -> None:
    wire = stream("google", [[delta] for delta in [*CALL, DONE]])
    call = {"functionCall": {"id": "call_a", "name": "f", "args": ARGUMENTS}}
    assert parts(wire) == [call, {"text": ""}]
    whole = json.loads(body("google", [[*CALL, DONE]]))
    assert whole["candidates"][0]["content"]["parts"] == [call]


def test_values_stream_if_asked_for() -> None:
    wire = stream("google", [[delta] for delta in [*CALL, DONE]], stream_arguments=True)
    assert [part["functionCall"] for part in parts(wire)[:-1]] == [
        {"id": "call_a", "name": "f", "willContinue": True},
        {
            "partialArgs": [
                {"jsonPath": "$.x[0]", "numberValue": 1},
                {"jsonPath": "$.x[1]", "stringValue": "a\u2028", "willContinue": True},
            ],
            "willContinue": True,
        },
        {
            "partialArgs": [
                {"jsonPath": "$.x[1]", "stringValue": "b"},
                {"jsonPath": "$.y.z", "nullValue": "NULL_VALUE"},
                {"jsonPath": "$.y['d\"\\'e']", "boolValue": True},
            ],
            "willContinue": True,
        },
        {},
    ]
    (answer,) = assemble("google", wire)
    assert json.loads(answer.calls[0].arguments) == ARGUMENTS


def full(value: Any) -> Any:
    """Without what `partialArgs` cannot have: lists and objects with nothing in them."""
    if isinstance(value, dict):
        return {key: kept for key, item in value.items() if (kept := full(item)) not in ({}, [])}
    if isinstance(value, list):
        kept = [full(item) for item in value]
        return kept if any(item not in ({}, []) for item in kept) else []
    return value


@one_case_in_three
def test_streamed_values_are_the_arguments(case: Case) -> None:
    raw = case.input.encode()
    batches, message = parse(case, [raw[i : i + 2] for i in range(0, len(raw), 2)])
    (answer,) = assemble("google", stream("google", batches, stream_arguments=True))
    for call, meant in zip(answer.calls, message.tool_calls, strict=True):
        assert (call.status == "complete") == meant.is_complete
        if meant.is_complete:
            assert full(json.loads(call.arguments)) == full(json.loads(meant.arguments))


def test_a_restored_writer_goes_on_with_values() -> None:
    deltas = [*CALL, DONE]
    straight = stream("google", [[delta] for delta in deltas], model="m", stream_arguments=True)
    options: dict[str, Any] = {"model": "m", "stream_arguments": True}
    for place in range(len(deltas)):
        writer = WireWriter("google", id="resp_1", created=1, **options)
        wire = b"".join(map(writer.write, deltas[:place]))
        other = WireWriter.restore(writer.snapshot(), "google", **options)
        assert wire + b"".join(map(other.write, deltas[place:])) + other.end() == straight


@pytest.mark.parametrize("status", ["incomplete", "malformed"])
@pytest.mark.parametrize("incomplete_calls", ["forward", "withhold"])
def test_a_broken_call_is_no_part(status: str, incomplete_calls: str) -> None:
    """The SDKs run every functionCall that they get."""
    broken = [*CALL[:2], Delta("tool_call_end", index=0, status=status)]
    for reason, expected in (
        ("stop", "MALFORMED_FUNCTION_CALL"),
        ("length", "MAX_TOKENS"),
        ("error", "OTHER"),
    ):
        batches = [[*broken, Delta("finish", finish_reason=reason)]]
        wire = stream("google", batches, incomplete_calls=incomplete_calls)
        whole = json.loads(body("google", batches, incomplete_calls=incomplete_calls))
        for last in (responses(wire)[-1], whole):
            (candidate,) = last["candidates"]
            assert candidate["content"]["parts"] == [{"text": ""}]
            assert candidate["finishReason"] == expected
            told = candidate.get("finishMessage")
            if incomplete_calls == "withhold":
                assert told is None
            else:
                assert told == 'Malformed function call: f {"x":\n [1, "a\u2028'
        assert len(responses(wire)) == 1


def test_a_complete_call_counts_beside_a_broken_one() -> None:
    begin = Delta("tool_call_begin", index=1, id="call_b", name="g")
    for broken in ([begin, Delta("tool_call_end", index=1, status="malformed")], [begin]):
        wire = stream("google", [[*CALL, *broken, DONE]])
        assert responses(wire)[-1]["candidates"][0]["finishReason"] == "STOP"
        assert responses(wire)[-1]["candidates"][0]["finishMessage"] == "Malformed function call: g {"
        assert len(assemble("google", wire)[0].calls) == 1


def test_what_a_host_calls_complete_and_is_no_object_is_broken() -> None:
    for text in ("[1]", '{"a": ', "1"):
        deltas = [CALL[0], Delta("tool_call_arguments", index=0, text=text), CALL[3]]
        wire = stream("google", [[*deltas, Delta("finish", finish_reason="stop")]])
        assert parts(wire) == [{"text": ""}]


def test_an_array_is_json_at_its_end() -> None:
    for fails in (False, True):
        writer = WireWriter("google", model="m", sse=False)
        wire = writer.keep_alive() + b"".join(map(writer.write, CALL)) + writer.keep_alive()
        wire += writer.fail("no memory") if fails else writer.write(DONE) + writer.end()
        assert len(json.loads(wire)) == 2
    assert json.loads(WireWriter("google", model="m", sse=False).fail("x", type="NOT_FOUND")) == [
        {"error": {"code": 404, "message": "x", "status": "NOT_FOUND"}}
    ]


def test_errors() -> None:
    for status, code in (("UNAVAILABLE", 503), ("INVALID_ARGUMENT", 400), (None, 500), ("OWN", 500)):
        error = {"code": code, "message": "no memory", "status": status or "INTERNAL"}
        assert responses(WireWriter("google", model="m").fail("no memory", type=status)) == [{"error": error}]
        whole = WireWriter("google", model="m", stream=False)
        assert json.loads(whole.fail("no memory", type=status)) == {"error": error}


def test_log_probabilities() -> None:
    entries: list[Any] = [(chr(97 + i), -i / 4, [(chr(97 + i), -i / 4), (b"\xff", -9.0)]) for i in range(4)]
    deltas = [
        Delta("reasoning", text="a", token_span=(0, 1)),
        Delta("content", text="b", token_span=(1, 3)),
        Delta("finish", finish_reason="stop", token_span=(3, 4)),
    ]
    for is_stream in (True, False):
        writer = WireWriter("google", model="m", stream=is_stream)
        writer.add_logprobs(0, entries)
        wire = b"".join(map(writer.write, deltas))
        found = responses(wire + writer.end()) if is_stream else [json.loads(writer.body())]
        told = [one["candidates"][0]["logprobsResult"] for one in found]
        chosen = [[entry["token"] for entry in one["chosenCandidates"]] for one in told]
        assert chosen == ([["a"], ["b", "c"], ["d"]] if is_stream else [["a", "b", "c", "d"]])
        assert told[0]["topCandidates"][0]["candidates"] == [
            {"token": "a", "logProbability": 0},
            {"token": "\ufffd", "logProbability": -9},
        ]


def test_an_answer_without_text_has_a_part() -> None:
    """The SDKs drop a turn with an empty list of parts from their history."""
    batches = [list(Parser("qwen3").finish().deltas)]
    assert parts(stream("google", batches)) == [{"text": ""}]
    assert json.loads(body("google", batches))["candidates"][0]["content"]["parts"] == [{"text": ""}]


def test_what_extra_must_not_set() -> None:
    for name in ("candidates", "usageMetadata", "modelVersion", "responseId"):
        with pytest.raises(ArgumentError, match=f"extra sets '{name}'"):
            WireWriter("google", model="m", extra={name: 1})

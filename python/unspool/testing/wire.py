"""Strict readers of the wire protocols: each rejects output that would break some client.

They assemble the answer as a client does, and raise AssertionError if a rule of docs/wire-shapes.md is broken. They
need no SDK.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from unspool._core import sign_thought
from unspool.core.stream.message import Message

__all__ = [
    "Assembled",
    "Call",
    "assemble",
    "differences",
    "finish_reason_of",
    "read_chat_completions",
    "read_completions",
    "read_events",
    "read_google",
    "read_messages",
    "read_open_inference",
    "read_responses",
]


@dataclass
class Call:
    """A call as a client assembles it; has a `status` if the protocol does."""

    id: str
    name: str
    arguments: str = ""
    status: str | None = None


@dataclass
class Assembled:
    """One answer as a client assembles it."""

    content: str = ""
    reasoning: str = ""
    calls: list[Call] = field(default_factory=list)
    finish_reason: str | None = None


def read_events(wire: bytes) -> list[tuple[str | None, Any]]:
    """Return the (event, data) of each frame of an event stream, without comments; `[DONE]` is a text.

    Raises:
        AssertionError: A frame has lines other than `event:` and `data:`, or contains a character at which
            `str.splitlines` would break a line.
    """
    if not wire:
        return []
    text = wire.decode()
    assert text.endswith("\n\n"), "a frame ends with an empty line"
    events: list[tuple[str | None, Any]] = []
    for frame in text[:-2].split("\n\n"):
        lines = frame.split("\n")
        assert lines == frame.splitlines(), f"a line break that some readers know: {frame!r}"
        if not frame or frame.startswith(":"):
            continue
        name = lines.pop(0)[len("event: ") :] if frame.startswith("event: ") else None
        assert len(lines) == 1, f"one line of data a frame: {frame!r}"
        assert lines[0].startswith("data: "), frame
        data = lines[0][len("data: ") :]
        events.append((name, data if data == "[DONE]" else _strict_json(data)))
    return events


def assemble(protocol: str, wire: bytes, **options: Any) -> list[Assembled]:
    """Read a whole stream of a `WireWriter`'s protocol; return the answers, in order."""
    return _READERS[protocol](wire, **options)


def read_chat_completions(
    wire: bytes, *, n: int = 1, include_usage: bool = False, reasoning_field: str = "reasoning_content"
) -> list[Assembled]:
    """Read the chunks of chat completions according to the rules that all clients rely on."""
    chunks = _openai_chunks(wire, "chat.completion.chunk", include_usage)
    answers = [Assembled() for _ in range(n)]
    for place, chunk in enumerate(chunks):
        (choice,) = chunk["choices"]
        assert {"index", "delta", "finish_reason"} <= set(choice) <= {
            "index", "delta", "finish_reason", "logprobs",
        }  # fmt: skip
        index, delta, finish_reason = choice["index"], choice["delta"], choice["finish_reason"]
        if place < n:
            assert (index, delta) == (place, {"role": "assistant", "content": ""}), "role chunks come first"
            continue
        answer = answers[index]
        assert answer.finish_reason is None, "nothing follows an answer's finish"
        if finish_reason is not None:
            assert delta == {}
            assert finish_reason in ("stop", "length", "tool_calls")
            answer.finish_reason = finish_reason
            continue
        assert len(delta) == 1, f"one region a chunk: {delta}"
        ((name, value),) = delta.items()
        if name == "tool_calls":
            _read_entries(value, answer)
        else:
            assert value
            assert isinstance(value, str)
            if name == "content":
                answer.content += value
            else:
                assert name == reasoning_field
                answer.reasoning += value
    for answer in answers:
        assert answer.finish_reason, "an answer has a finish"
        _check_calls(answer)
    return answers


def read_completions(wire: bytes, *, n: int = 1, include_usage: bool = False) -> list[Assembled]:
    """Read the chunks of completions, which have only content."""
    answers = [Assembled() for _ in range(n)]
    for chunk in _openai_chunks(wire, "text_completion", include_usage):
        (choice,) = chunk["choices"]
        assert set(choice) == {"index", "text", "logprobs", "finish_reason"}
        answer = answers[choice["index"]]
        assert answer.finish_reason is None, "nothing follows an answer's finish"
        answer.content += choice["text"]
        answer.finish_reason = choice["finish_reason"]
        assert answer.finish_reason in (None, "stop", "length")
        assert (answer.finish_reason is None) == bool(choice["text"])
    assert all(answer.finish_reason for answer in answers)
    return answers


def read_responses(wire: bytes, *, summary: bool = True) -> list[Assembled]:
    """Read the events of Responses; checks order, numbers, ids, and that the last event is complete."""
    events = read_events(wire)
    types = [name for name, _ in events]
    for number, (name, data) in enumerate(events):
        assert data["type"] == name
        assert data["sequence_number"] == number, "numbered from 0 without gaps"
    assert types[:2] == ["response.created", "response.in_progress"]
    last = types[-1]
    assert last in ("response.completed", "response.incomplete")
    for _, data in events[:2]:
        assert data["response"]["output"] == []
        assert data["response"]["status"] == "in_progress"
    items: list[Any] = []
    position = 2
    while position < len(events) - 1:
        position = _read_item(events, position, items, summary)
    final = events[-1][1]["response"]
    assert final["output"] == items, "the last event holds every item"
    assert final["id"] == events[0][1]["response"]["id"]
    assert len({item["id"] for item in items}) == len(items)
    assert final["status"] == last.removeprefix("response.")
    reason = {"completed": "stop", "incomplete": "length"}[final["status"]]
    assert (final["incomplete_details"] is None) == (reason == "stop")
    answer = Assembled(finish_reason=reason)
    for item in items:
        if item["type"] == "message":
            answer.content += item["content"][0]["text"]
        elif item["type"] == "reasoning":
            (part,) = item["summary"] or item["content"]
            answer.reasoning += part["text"]
        else:
            status = {"completed": "complete"}.get(item["status"], item["status"])
            answer.calls.append(Call(item["call_id"], item["name"], item["arguments"], status))
    _check_calls(answer)
    return [answer]


def read_messages(wire: bytes) -> list[Assembled]:
    """Read Anthropic's events; checks that one block is open at a time, and that blocks are numbered without gaps."""
    events = [(name, data) for name, data in read_events(wire) if name != "ping"]
    for name, data in events:
        assert data["type"] == name
    assert events[0][0] == "message_start"
    message = events[0][1]["message"]
    assert (message["content"], message["stop_reason"], message["role"]) == ([], None, "assistant")
    assert [name for name, _ in events[-2:]] == ["message_delta", "message_stop"]
    ending = events[-2][1]
    assert ending["usage"]["output_tokens"] >= 0
    stop_reason = ending["delta"]["stop_reason"]
    assert (ending["delta"]["stop_sequence"] is not None) == (stop_reason == "stop_sequence")
    answer = Assembled()
    answer.finish_reason = {
        "end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "tool_use": "tool_calls",
    }[stop_reason]  # fmt: skip
    position, block = 1, 0
    while position < len(events) - 2:
        position = _read_block(events, position, block, answer)
        block += 1
    _check_calls(answer)
    return [answer]


def read_open_inference(
    wire: bytes, *, n: int = 1, include_usage: bool = False, reasoning_field: str = "reasoning_content"
) -> list[Assembled]:
    """Read responses of the Open Inference Protocol; checks that `output` and `delta` of each agree."""
    answers = [Assembled() for _ in range(n)]
    events = read_events(wire)
    for place, (name, response) in enumerate(events):
        assert name is None
        assert set(response) >= {"model_name", "id", "parameters", "outputs"}
        parameters = response["parameters"]
        answer = answers[parameters["index"]]
        assert answer.finish_reason is None, "nothing follows an answer's finish"
        output, delta = response["outputs"]
        for tensor, expected, kind in ((output, "output", "str"), (delta, "delta", "json")):
            assert (tensor["name"], tensor["parameters"]) == (expected, {"content_type": kind})
            assert (tensor["shape"], tensor["datatype"], len(tensor["data"])) == ([1, 1], "BYTES", 1)
        if parameters["event"] == "finish":
            assert (output["data"], delta["data"]) == ([""], ["{}"])
            answer.finish_reason = parameters["finish_reason"]
            assert ("total_tokens" in parameters) == (include_usage and place == len(events) - 1)
            continue
        wire_delta = _strict_json(delta["data"][0])
        ((key, value),) = wire_delta.items()
        event = {"content": "content", reasoning_field: "reasoning", "tool_calls": "tool_call"}[key]
        assert event == parameters["event"]
        assert output["data"][0] == (value if key == "content" else "")
        if key == "content":
            answer.content += value
        elif key == "tool_calls":
            _read_entries(value, answer)
        else:
            answer.reasoning += value
    for answer in answers:
        assert answer.finish_reason
        _check_calls(answer)
    return answers


def read_google(wire: bytes, *, n: int = 1) -> list[Assembled]:
    """Read Google's responses, as events or an array; checks that each has one candidate with one part."""
    if wire.startswith(b"["):
        responses = _strict_json(wire.decode())
    else:
        events = read_events(wire)
        assert all(name is None for name, _ in events)
        responses = [data for _, data in events]
    answers = [Assembled() for _ in range(n)]
    thoughts = [""] * n
    heads = {(response["modelVersion"], response["responseId"]) for response in responses}
    assert len(heads) == 1, "one head for all responses"
    for place, response in enumerate(responses):
        (candidate,) = response["candidates"]
        assert ("usageMetadata" in response) == (place == len(responses) - 1), "usage comes last"
        answer = answers[candidate["index"]]
        assert answer.finish_reason is None, "nothing follows an answer's finish"
        assert candidate["content"].keys() == {"role", "parts"}
        assert candidate["content"]["role"] == "model"
        (part,) = candidate["content"]["parts"]
        is_signed = bool(thoughts[candidate["index"]]) and (
            "finishReason" in candidate or "name" in part.get("functionCall", ())
        )
        assert ("thoughtSignature" in part) == is_signed, (
            "a call or the last part signs the thoughts before it"
        )
        if is_signed:
            text = thoughts[candidate["index"]]
            carried = base64.b64encode(text.encode()).decode()
            assert part.pop("thoughtSignature") == sign_thought(text) + carried
            thoughts[candidate["index"]] = ""
        if "finishReason" in candidate:
            assert part == {"text": ""}, "a finish shows nothing"
            words = {
                "STOP": "stop",
                "MALFORMED_FUNCTION_CALL": "stop",
                "MAX_TOKENS": "length",
                "OTHER": "length",
            }
            answer.finish_reason = words[candidate["finishReason"]]
            if candidate["finishReason"] == "STOP" and any(call.status for call in answer.calls):
                answer.finish_reason = "tool_calls"
        elif "functionCall" in part:
            _read_google_call(part["functionCall"], answer)
        else:
            assert part["text"]
            assert part.keys() <= {"text", "thought"}
            if part.get("thought"):
                answer.reasoning += part["text"]
                thoughts[candidate["index"]] += part["text"]
            else:
                answer.content += part["text"]
    counts = responses[-1]["usageMetadata"]
    assert counts["totalTokenCount"] == sum(
        counts.get(name, 0) for name in ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount")
    )
    for answer in answers:
        assert answer.finish_reason, "an answer has a finish"
    return answers


def finish_reason_of(protocol: str, message: Message) -> str:
    """Return the finish reason that the protocol sends, in the words of chat completions."""
    assert message.finish_reason
    if protocol == "open_inference":
        return message.finish_reason
    if message.finish_reason in ("stop", "tool_calls"):
        # These two have no finish reason for calls.
        return "stop" if protocol in ("completions", "responses") else message.finish_reason
    return "length"


def differences(protocol: str, answer: Assembled, message: Message) -> dict[str, tuple[Any, Any]]:
    """Return the fields that a client assembles wrongly, each as (client's value, right value)."""
    pairs: dict[str, tuple[Any, Any]] = {
        "content": (answer.content, message.content),
        "finish_reason": (answer.finish_reason, finish_reason_of(protocol, message)),
    }
    if protocol == "google":
        pairs["reasoning"] = (answer.reasoning, message.reasoning)
        pairs["calls"] = (
            [(call.id, call.name, json.loads(call.arguments)) for call in answer.calls],
            [
                (call.id, call.name, json.loads(call.arguments))
                for call in message.tool_calls
                if call.is_complete
            ],
        )
    elif protocol != "completions":
        pairs["reasoning"] = (answer.reasoning, message.reasoning)
        pairs["calls"] = (
            [(call.id, call.name, call.arguments) for call in answer.calls],
            [(call.id, call.name, call.arguments or "{") for call in message.tool_calls],
        )
    if protocol == "responses":
        pairs["status"] = (
            [call.status for call in answer.calls],
            ["complete" if call.is_complete else "incomplete" for call in message.tool_calls],
        )
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


_READERS: dict[str, Callable[..., list[Assembled]]] = {
    "chat_completions": read_chat_completions,
    "completions": read_completions,
    "responses": read_responses,
    "messages": read_messages,
    "open_inference": read_open_inference,
    "google": read_google,
}


def _strict_json(text: str) -> Any:
    def refuse(word: str) -> Any:
        raise AssertionError(f"{word} is not JSON")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len({name for name, _ in pairs}) == len(pairs), f"a doubled name in {text}"
        return dict(pairs)

    return json.loads(text, parse_constant=refuse, object_pairs_hook=unique)


def _openai_chunks(wire: bytes, kind: str, include_usage: bool) -> list[Any]:
    """Return the chunks that contain a choice; checks their common fields, the usage and the end mark."""
    events = read_events(wire)
    assert all(name is None for name, _ in events)
    data = [data for _, data in events]
    assert data.pop() == "[DONE]"
    assert "[DONE]" not in data, "the end mark comes once"
    heads = {(chunk["id"], chunk["object"], chunk["created"], chunk["model"]) for chunk in data}
    assert len(heads) == 1, "one head for all chunks"
    assert data[0]["object"] == kind
    if include_usage:
        usage = data.pop()
        assert usage["choices"] == []
        counts = usage["usage"]
        assert counts["total_tokens"] == counts["prompt_tokens"] + counts["completion_tokens"]
    assert all("usage" not in chunk and len(chunk["choices"]) == 1 for chunk in data)
    return data


def _read_entries(entries: list[Any], answer: Assembled) -> None:
    assert entries
    indices = [entry["index"] for entry in entries]
    assert len(set(indices)) == len(indices), "one entry a call in a chunk"
    for entry in entries:
        assert type(entry["index"]) is int
        function = entry["function"]
        assert isinstance(function["arguments"], str)
        if "id" in entry:
            assert entry["index"] == len(answer.calls), "calls are numbered from 0 without gaps"
            assert set(entry) == {"index", "id", "type", "function"}
            assert set(function) == {"name", "arguments"}
            assert entry["type"] == "function"
            answer.calls.append(Call(entry["id"], function["name"]))
        else:
            assert entry["index"] == len(answer.calls) - 1, "only the last call grows"
            assert set(entry) == {"index", "function"}
            assert set(function) == {"arguments"}
            assert function["arguments"]
        answer.calls[-1].arguments += function["arguments"]


def _read_google_call(call: dict[str, Any], answer: Assembled) -> None:
    """Read a whole call; or a call's beginning, then values of its arguments, then an empty end."""
    if "args" in call:
        assert call.keys() == {"id", "name", "args"}
        assert isinstance(call["args"], dict)
        answer.calls.append(Call(call["id"], call["name"], json.dumps(call["args"]), "complete"))
    elif "name" in call:
        assert call == {"id": call["id"], "name": call["name"], "willContinue": True}
        answer.calls.append(Call(call["id"], call["name"], "{}"))
    else:
        last = answer.calls[-1]
        assert last.status is None, "an open call"
        if not call:
            last.status = "complete"
            return
        assert call.keys() == {"partialArgs", "willContinue"}
        assert call["willContinue"] is True
        assert call["partialArgs"]
        arguments = json.loads(last.arguments)
        for value in call["partialArgs"]:
            _set_value(arguments, value)
        last.arguments = json.dumps(arguments)


def _set_value(arguments: Any, value: dict[str, Any]) -> None:
    """Set the value that a JSONPath names, and create its parents; strings are appended."""
    assert re.fullmatch(rf"\$(?:{_STEP.pattern})+", value["jsonPath"]), value
    steps: list[Any] = []
    for index, plain, quoted in _STEP.findall(value["jsonPath"]):
        text = quoted.replace("\\'", "'").replace('"', '\\"')
        steps.append(int(index) if index else plain or json.loads(f'"{text}"'))
    (typed_value,) = [item for name, item in value.items() if name.endswith("Value")]
    inner = arguments
    for step, after in zip(steps, [*steps[1:], None], strict=True):
        if isinstance(inner, list):
            assert step <= len(inner), "elements come in order"
            if step == len(inner):
                inner.append(None)
            old = inner[step]
        else:
            old = inner.setdefault(step, None)
        if after is None:
            inner[step] = None if "nullValue" in value else typed_value
            if "stringValue" in value and old is not None:
                inner[step] = old + typed_value
        elif old is None:
            inner[step] = [] if isinstance(after, int) else {}
        inner = inner[step]


_STEP = re.compile(r"\[(\d+)\]|\.([A-Za-z_][A-Za-z0-9_]*)|\['((?:[^'\\]|\\.)*)'\]")


def _check_calls(answer: Assembled) -> None:
    """Check that arguments are exactly one JSON object, or truncated, and never empty, because clients run empty ones
    as {}."""
    complete = 0
    for call in answer.calls:
        assert call.arguments.startswith("{")
        try:
            value = json.loads(call.arguments)
        except ValueError:
            assert call.status != "complete"
            continue
        assert isinstance(value, dict)
        assert call.arguments.endswith("}")
        complete += 1
    assert complete or answer.finish_reason != "tool_calls"


def _read_item(
    events: Sequence[tuple[str | None, Any]], position: int, items: list[Any], summary: bool
) -> int:
    """Read one item's events, from "added" to "done"; return the index after them."""

    def take(name: str) -> Any:
        nonlocal position
        event, data = events[position]
        assert event == name, f"expected {name}, found {event}"
        assert data["output_index"] == len(items)
        assert data.get("item_id", item_id) == item_id
        position += 1
        return data

    item_id = events[position][1]["item"]["id"]
    added = take("response.output_item.added")["item"]
    assert added["status"] == "in_progress"
    text, part = "", None
    if added["type"] == "function_call":
        assert added["arguments"] == ""
        text_event, part_event, key = "response.function_call_arguments", None, "arguments"
    else:
        is_reasoning = added["type"] == "reasoning"
        where = "summary" if is_reasoning and summary else "content"
        kind = {"message": "output_text"}.get(added["type"], "summary_text" if summary else "reasoning_text")
        text_event = {
            "output_text": "response.output_text",
            "reasoning_text": "response.reasoning_text",
            "summary_text": "response.reasoning_summary_text",
        }[kind]
        part_event = "response.reasoning_summary_part" if where == "summary" else "response.content_part"
        key = "text"
        assert added[where] == []
        part = take(f"{part_event}.added")["part"]
        assert (part["type"], part["text"]) == (kind, "")
    while events[position][0] == f"{text_event}.delta":
        delta = take(f"{text_event}.delta")["delta"]
        assert delta
        text += delta
    is_whole = added["type"] != "function_call" or events[position][0] == f"{text_event}.done"
    if is_whole:
        assert take(f"{text_event}.done")[key] == text
    if part_event is not None:
        part = take(f"{part_event}.done")["part"]
        assert part["text"] == text
    done = take("response.output_item.done")["item"]
    assert done["status"] in ("completed", "incomplete")
    if part is None:
        assert is_whole == (done["status"] == "completed"), "arguments are done where they are whole"
        assert done == {**added, "arguments": text, "status": done["status"]}
    else:
        signed = {"encrypted_content": sign_thought(text)} if is_reasoning else {}
        assert done == {**added, where: [part], **signed, "status": done["status"]}
    items.append(done)
    return position


def _read_block(
    events: Sequence[tuple[str | None, Any]], position: int, index: int, answer: Assembled
) -> int:
    """Read one block's events, from "start" to "stop"; return the index after them."""
    name, start = events[position]
    assert (name, start["index"]) == ("content_block_start", index), "blocks are numbered without gaps"
    block, text, signatures = start["content_block"], "", 0
    kind, key = {
        "text": ("text_delta", "text"),
        "thinking": ("thinking_delta", "thinking"),
        "tool_use": ("input_json_delta", "partial_json"),
    }[block["type"]]
    position += 1
    while events[position][0] == "content_block_delta":
        data = events[position][1]
        assert data["index"] == index
        assert signatures == 0, "the signature comes last"
        if data["delta"]["type"] == "signature_delta":
            assert data["delta"]["signature"] == sign_thought(text)
            signatures += 1
        else:
            assert data["delta"]["type"] == kind, "a delta is of its block's kind"
            assert data["delta"][key]
            text += data["delta"][key]
        position += 1
    assert events[position] == ("content_block_stop", {"type": "content_block_stop", "index": index})
    assert signatures == (block["type"] == "thinking")
    if block["type"] == "text":
        assert block == {"type": "text", "text": ""}
        answer.content += text
    elif block["type"] == "thinking":
        assert block == {"type": "thinking", "thinking": "", "signature": ""}
        answer.reasoning += text
    else:
        assert block["input"] == {}
        answer.calls.append(Call(block["id"], block["name"], text))
    return position + 1

"""A request to one of vLLM's three endpoints, and its answer in one shape, streamed or whole."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx

TIMEOUT = 100.0


@dataclass
class Answer:
    """What a client has at the end. Calls are (name, arguments)."""

    reasoning: str = ""
    content: str = ""
    calls: list[list[str]] = field(default_factory=list)
    finish: str | None = None
    logprobs: list[str] = field(default_factory=list)  # the tokens that have one
    faults: list[str] = field(default_factory=list)  # what no client could assemble

    def start_call(self, index: int, name: str) -> None:
        if index != len(self.calls):
            self.faults.append(f"call {index} starts after {len(self.calls)}")
        self.calls.append([name, ""])

    def add_arguments(self, index: int, text: str) -> None:
        if index >= len(self.calls):
            self.faults.append(f"arguments of call {index}, which has not started")
        else:
            self.calls[index][1] += text

    def comparable(self) -> Any:
        """White space around texts aside, and arguments as values; those that are not JSON to the letter."""
        calls = [(name, _value(arguments)) for name, arguments in self.calls]
        return self.reasoning.strip(), self.content.strip(), calls, self.finish, self.logprobs, self.faults


def _value(text: str) -> str:
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return f"not JSON: {text}"


@dataclass
class Reply:
    """The answers of one request, one a choice, and its usage."""

    status: int
    answers: list[Answer]
    usage: dict[str, Any] = field(default_factory=dict)
    error: str = ""

    @property
    def token_count(self) -> int | None:
        """The output's tokens; None: a stream of chat does not report them."""
        return self.usage.get("completion_tokens", self.usage.get("output_tokens"))

    def comparable(self) -> Any:
        return self.status, [answer.comparable() for answer in self.answers]


async def ask(client: httpx.AsyncClient, api: str, stream: bool, body: dict[str, Any]) -> Reply:
    """`api`: chat, responses or messages."""
    path, read_whole, read_stream = _APIS[api]
    if not stream:
        response = await client.post(path, json=body, timeout=TIMEOUT)
        if response.status_code != 200:
            return Reply(response.status_code, [], error=response.text)
        return read_whole(response.json())
    async with client.stream("POST", path, json={**body, "stream": True}, timeout=TIMEOUT) as response:
        if response.status_code != 200:
            return Reply(response.status_code, [], error=(await response.aread()).decode())
        return read_stream([event async for event in _events(response)])


async def _events(response: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    async for line in response.aiter_lines():
        if line.startswith("data: ") and line != "data: [DONE]":
            yield json.loads(line.removeprefix("data: "))


def _tokens(logprobs: dict[str, Any] | None) -> Iterator[str]:
    for entry in (logprobs or {}).get("content") or ():
        yield entry["token"]


def _whole_chat(body: dict[str, Any]) -> Reply:
    answers = []
    for choice in sorted(body["choices"], key=lambda choice: choice["index"]):
        message = choice["message"]
        calls = [
            [call["function"]["name"], call["function"]["arguments"]]
            for call in message.get("tool_calls") or ()
        ]
        answers.append(
            Answer(
                message.get("reasoning") or "",
                message.get("content") or "",
                calls,
                choice["finish_reason"],
                list(_tokens(choice.get("logprobs"))),
            )
        )
    return Reply(200, answers, body["usage"])


def _streamed_chat(events: list[dict[str, Any]]) -> Reply:
    answers: dict[int, Answer] = {}
    usage: dict[str, Any] = {}
    for event in events:
        usage = event.get("usage") or usage
        for choice in event.get("choices") or ():
            answer = answers.setdefault(choice["index"], Answer())
            if answer.finish is not None:
                answer.faults.append("a chunk after the finish reason")
            delta = choice["delta"]
            answer.reasoning += delta.get("reasoning") or ""
            answer.content += delta.get("content") or ""
            for call in delta.get("tool_calls") or ():
                function = call.get("function") or {}
                if call.get("id"):
                    answer.start_call(call["index"], function.get("name") or "")
                answer.add_arguments(call["index"], function.get("arguments") or "")
            answer.finish = choice.get("finish_reason")
            answer.logprobs += _tokens(choice.get("logprobs"))
    return Reply(200, [answers[index] for index in sorted(answers)], usage)


def _read_items(response: dict[str, Any]) -> Answer:
    """A response object's output."""
    answer = Answer(finish=(response.get("incomplete_details") or {}).get("reason") or response["status"])
    for item in response["output"]:
        if item["type"] == "reasoning":
            answer.reasoning += "".join(part["text"] for part in item.get("content") or ())
        elif item["type"] == "message":
            answer.content += "".join(part["text"] for part in item["content"])
        elif item["type"] == "function_call":
            answer.calls.append([item["name"], item["arguments"]])
        else:
            answer.faults.append(f"an item {item['type']}")
    return answer


def _whole_response(body: dict[str, Any]) -> Reply:
    return Reply(200, [_read_items(body)], body.get("usage") or {})


def _streamed_response(events: list[dict[str, Any]]) -> Reply:
    """The deltas' answer, and that of the last event's response object."""
    answer, calls = Answer(), {}
    last: dict[str, Any] = {}
    for event in events:
        kind = event.get("type", "error")
        if kind == "response.reasoning_text.delta":
            answer.reasoning += event["delta"]
        elif kind == "response.output_text.delta":
            answer.content += event["delta"]
        elif kind == "response.output_item.added" and event["item"]["type"] == "function_call":
            calls[event["output_index"]] = len(answer.calls)
            answer.start_call(len(answer.calls), event["item"]["name"])
        elif kind == "response.function_call_arguments.delta":
            answer.add_arguments(calls.get(event["output_index"], len(calls)), event["delta"])
        elif kind in ("response.completed", "response.incomplete", "response.failed"):
            last = event["response"]
        elif kind == "error":
            answer.faults.append(str(event))
    if not last:
        answer.faults.append("no last event")
        return Reply(200, [answer])
    final = _read_items(last)
    answer.finish = final.finish
    return Reply(200, [answer, final], last.get("usage") or {})


def _whole_message(body: dict[str, Any]) -> Reply:
    answer = Answer(finish=body["stop_reason"])
    for block in body["content"]:
        if block["type"] == "thinking":
            answer.reasoning += block["thinking"]
        elif block["type"] == "text":
            answer.content += block["text"]
        else:
            answer.calls.append([block["name"], json.dumps(block["input"])])
    return Reply(200, [answer], body["usage"])


def _streamed_message(events: list[dict[str, Any]]) -> Reply:
    answer, usage = Answer(), {}
    calls: dict[int, int] = {}
    is_open: int | None = None
    for event in events:
        kind, index = event["type"], event.get("index")
        if kind == "content_block_start":
            if is_open is not None:
                answer.faults.append(f"block {index} opens inside {is_open}")
            is_open = index
            if event["content_block"]["type"] == "tool_use":
                calls[index] = len(answer.calls)
                answer.start_call(len(answer.calls), event["content_block"]["name"])
        elif kind == "content_block_stop":
            is_open = None
        elif kind == "content_block_delta":
            delta = event["delta"]
            if index != is_open:
                answer.faults.append(f"a delta of block {index}, which is not open")
            answer.reasoning += delta.get("thinking") or ""
            answer.content += delta.get("text") or ""
            if "partial_json" in delta:
                answer.add_arguments(calls.get(index, len(calls)), delta["partial_json"])
        elif kind == "message_delta":
            answer.finish = event["delta"]["stop_reason"]
            usage = event["usage"]
        elif kind == "error":
            answer.faults.append(str(event))
    return Reply(200, [answer], usage)


_APIS: dict[str, tuple[str, Any, Any]] = {
    "chat": ("/v1/chat/completions", _whole_chat, _streamed_chat),
    "responses": ("/v1/responses", _whole_response, _streamed_response),
    "messages": ("/v1/messages", _whole_message, _streamed_message),
}

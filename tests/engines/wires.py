"""One request in the shape of each wire, and an answer of each in one shape, streamed or whole."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unspool.testing.wire import Assembled, Call, assemble

__all__ = ["WIRES", "Ask", "Wire"]


@dataclass(frozen=True)
class Ask:
    """A request.

    Attributes:
        tools: With name and parameters.
        choice: "auto", "none", "required" or a tool's name.
        response: A response format, as chat completions have it.
        fields: Further fields of the body.
    """

    text: str = "Hi"
    tools: Sequence[Mapping[str, Any]] = ()
    choice: str = "auto"
    is_strict: bool = False
    is_parallel: bool = True
    max_tokens: int = 400
    temperature: float | None = None
    response: Mapping[str, Any] | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_named(self) -> bool:
        return self.choice not in ("auto", "none", "required")


@dataclass(frozen=True)
class Wire:
    """A protocol.

    Attributes:
        name: As `unspool.testing.wire` has it.
    """

    name: str
    path: str

    def body(self, ask: Ask) -> dict[str, Any]:
        """The request in its shape."""
        body = _BODIES[self.name](ask)
        return {**body, **({} if self.name == "google" else _temperature(ask)), **ask.fields}

    def streamed(self, body: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Path and body of the same request as a stream."""
        if self.name == "google":
            return self.path.replace(":generate", ":streamGenerate") + "?alt=sse", dict(body)
        return self.path, {**body, "stream": True}

    def read_stream(self, wire: bytes, n: int = 1) -> list[Assembled]:
        """By the strict readers."""
        many = {} if n == 1 else {"n": n}
        return [_comparable(answer) for answer in assemble(self.name, wire, **many)]

    def read_whole(self, body: Any) -> list[Assembled]:
        """The same of an answer in one piece."""
        return [_comparable(answer) for answer in _WHOLE[self.name](body)]


def _comparable(answer: Assembled) -> Assembled:
    """Without what differs from answer to answer, and arguments as values."""
    for call in answer.calls:
        call.id, call.status = "", None
        with contextlib.suppress(ValueError):  # of a call that is cut off
            call.arguments = json.dumps(json.loads(call.arguments), ensure_ascii=False)
    return answer


def _chat(ask: Ask) -> dict[str, Any]:
    body: dict[str, Any] = {"model": "m", "messages": [_user(ask)], "max_tokens": ask.max_tokens}
    if ask.tools:
        strict = {"strict": True} if ask.is_strict else {}
        body["tools"] = [{"type": "function", "function": {**tool, **strict}} for tool in ask.tools]
        named = {"type": "function", "function": {"name": ask.choice}}
        body["tool_choice"] = named if ask.is_named else ask.choice
    if not ask.is_parallel:
        body["parallel_tool_calls"] = False
    return body if ask.response is None else {**body, "response_format": ask.response}


def _completions(ask: Ask) -> dict[str, Any]:
    return {"model": "m", "prompt": ask.text, "max_tokens": ask.max_tokens}


def _responses(ask: Ask) -> dict[str, Any]:
    body: dict[str, Any] = {"model": "m", "input": [_user(ask)], "max_output_tokens": ask.max_tokens}
    if ask.tools:
        strict = {"strict": True} if ask.is_strict else {}
        body["tools"] = [{"type": "function", **tool, **strict} for tool in ask.tools]
        body["tool_choice"] = {"type": "function", "name": ask.choice} if ask.is_named else ask.choice
    if not ask.is_parallel:
        body["parallel_tool_calls"] = False
    if ask.response is not None:
        body["text"] = {"format": _flat(ask.response)}
    return body


def _messages(ask: Ask) -> dict[str, Any]:
    body: dict[str, Any] = {"model": "m", "messages": [_user(ask)], "max_tokens": ask.max_tokens}
    if ask.tools:
        strict = {"strict": True} if ask.is_strict else {}
        body["tools"] = [
            {"name": tool["name"], "input_schema": tool["parameters"], **strict} for tool in ask.tools
        ]
        kind = {"required": "any"}.get(ask.choice, ask.choice)
        choice = {"type": "tool", "name": ask.choice} if ask.is_named else {"type": kind}
        body["tool_choice"] = choice if ask.is_parallel else {**choice, "disable_parallel_tool_use": True}
    if ask.response is not None:
        body["output_config"] = {"format": _flat(ask.response)}
    return body


def _google(ask: Ask) -> dict[str, Any]:
    config: dict[str, Any] = {
        "maxOutputTokens": ask.max_tokens,
        "thinkingConfig": {"includeThoughts": True},
        **_temperature(ask),
    }
    body: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": ask.text}]}]}
    if ask.tools:
        functions = [{"name": tool["name"], "parametersJsonSchema": tool["parameters"]} for tool in ask.tools]
        mode = {"auto": "AUTO", "none": "NONE"}.get(ask.choice, "ANY")
        allowed = {"allowedFunctionNames": [ask.choice]} if ask.is_named else {}
        body["tools"] = [{"functionDeclarations": functions}]
        body["toolConfig"] = {"functionCallingConfig": {"mode": mode, **allowed}}
    if ask.response is not None:
        config["responseMimeType"] = "application/json"
        if schema := _flat(ask.response).get("schema"):
            config["responseJsonSchema"] = schema
    return {**body, "generationConfig": config}


def _temperature(ask: Ask) -> dict[str, Any]:
    return {} if ask.temperature is None else {"temperature": ask.temperature}


def _user(ask: Ask) -> dict[str, Any]:
    return {"role": "user", "content": ask.text}


def _flat(response: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": response["type"], **response.get("json_schema", {})}


def _whole_chat(body: Any) -> list[Assembled]:
    answers = []
    for choice in body["choices"]:
        message = choice["message"]
        calls = [
            Call("", call["function"]["name"], call["function"]["arguments"])
            for call in message.get("tool_calls") or ()
        ]
        thought = message.get("reasoning_content") or ""
        answers.append(Assembled(message["content"] or "", thought, calls, choice["finish_reason"]))
    return answers


def _whole_completions(body: Any) -> list[Assembled]:
    return [Assembled(choice["text"], finish_reason=choice["finish_reason"]) for choice in body["choices"]]


def _whole_responses(body: Any) -> list[Assembled]:
    answer = Assembled(finish_reason={"completed": "stop", "incomplete": "length"}[body["status"]])
    for item in body["output"]:
        if item["type"] == "reasoning":
            answer.reasoning += "".join(part["text"] for part in item["summary"])
        elif item["type"] == "message":
            answer.content += "".join(part["text"] for part in item["content"])
        else:
            answer.calls.append(Call("", item["name"], item["arguments"]))
    return [answer]


def _whole_messages(body: Any) -> list[Assembled]:
    words = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "tool_use": "tool_calls"}
    answer = Assembled(finish_reason=words[body["stop_reason"]])
    for block in body["content"]:
        if block["type"] == "thinking":
            answer.reasoning += block["thinking"]
        elif block["type"] == "text":
            answer.content += block["text"]
        else:
            answer.calls.append(Call("", block["name"], json.dumps(block["input"])))
    return [answer]


def _whole_google(body: Any) -> list[Assembled]:
    answers = []
    for candidate in body["candidates"]:
        answer = Assembled()
        for part in candidate["content"]["parts"]:
            if "functionCall" in part:
                call = part["functionCall"]
                answer.calls.append(Call("", call["name"], json.dumps(call["args"])))
            elif part.get("thought"):
                answer.reasoning += part["text"]
            else:
                answer.content += part["text"]
        words = {"STOP": "tool_calls" if answer.calls else "stop", "MAX_TOKENS": "length"}
        answer.finish_reason = words[candidate["finishReason"]]
        answers.append(answer)
    return answers


_BODIES = {
    "chat_completions": _chat, "completions": _completions, "responses": _responses, "messages": _messages,
    "google": _google,
}  # fmt: skip
_WHOLE = {
    "chat_completions": _whole_chat, "completions": _whole_completions, "responses": _whole_responses,
    "messages": _whole_messages, "google": _whole_google,
}  # fmt: skip
WIRES = {
    "chat": Wire("chat_completions", "/v1/chat/completions"),
    "completions": Wire("completions", "/v1/completions"),
    "messages": Wire("messages", "/v1/messages"),
    "responses": Wire("responses", "/v1/responses"),
    "google": Wire("google", "/v1beta/models/m:generateContent"),
}

"""Messages with known values for a template to render, in each shape that templates expect."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "CALLS", "CONTENT", "NUMBER", "REASONING", "TYPED", "USER", "Answer", "Call", "Shape", "assistant_message",
    "call_id", "job_of", "prompt_job", "tools_of",
]  # fmt: skip

USER = {"role": "user", "content": "zquser"}


@dataclass(frozen=True)
class Call:
    """A call in a rendering: the tool's name and its arguments."""

    name: str
    arguments: dict[str, Any]


# The known values: a unique word for each hole.
CONTENT, REASONING = "zqcontent", "zqreason"
#: A number that occurs nowhere else.
NUMBER = 70317

CALLS = (
    Call("zqtoola", {"zqkeya": "zqvala", "zqkeyb": "zqvalb", "zqkeyc": "zqvalc"}),
    Call("zqtoolb", {"zqkeya": "zqseca", "zqkeyb": "zqsecb", "zqkeyc": "zqsecc"}),
)
#: A call with a number, and with text that markup must escape.
TYPED = Call("zqtoola", {"zqkeya": "zqv<a&l", "zqkeyn": NUMBER})


@dataclass(frozen=True)
class Answer:
    """The content of an assistant message."""

    content: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True)
class Shape:
    """The form of messages that a template expects.

    Attributes:
        has_text_arguments: Whether arguments are JSON text instead of an object.
        ids: The style of call ids: "letters" (nine letters and digits) or "functions" (`functions.f:0`).
        reasoning: The place of reasoning: "fields" next to the content, or "parts" of the content.
        has_no_content: Whether the content of a message without content is None instead of an empty text.
        variables: Variables that enable reasoning.
    """

    has_text_arguments: bool = False
    ids: str = "letters"
    reasoning: str = "fields"
    has_no_content: bool = False
    variables: dict[str, Any] = field(default_factory=dict)


def call_id(shape: Shape, call: Call, index: int) -> str:
    """Return the id of a call in a message."""
    if shape.ids == "functions":
        return f"functions.{call.name}:{index}"
    return f"zqcallid{index}"


def job_of(answers: Answer | Iterable[Answer], shape: Shape) -> dict[str, Any]:
    """Return the template's variables for a conversation that ends with the answer."""
    answers = [answers] if isinstance(answers, Answer) else answers
    messages: list[dict[str, Any]] = []
    for answer in answers:
        calls = [
            (call_id(shape, call, at), call.name, call.arguments) for at, call in enumerate(answer.calls)
        ]
        messages += [USER, assistant_message(shape, answer.content, answer.reasoning, calls)]
    return {"messages": messages, "add_generation_prompt": False, **shape.variables}


def prompt_job(shape: Shape, add_generation_prompt: bool = True) -> dict[str, Any]:
    """Return the template's variables for the prompt before an answer."""
    return {"messages": [USER], "add_generation_prompt": add_generation_prompt, **shape.variables}


def assistant_message(
    shape: Shape, content: str = "", reasoning: str = "", calls: Iterable[tuple[str, str, Any]] = ()
) -> dict[str, Any]:
    """Return an assistant's message; each call is an id, the tool's name and the arguments."""
    message: dict[str, Any] = {
        "role": "assistant",
        "content": content or (None if shape.has_no_content else ""),
    }
    if reasoning and shape.reasoning == "parts":
        text = [{"type": "text", "text": content}] if content else []
        message["content"] = [{"type": "thinking", "thinking": reasoning}, *text]
    elif reasoning:
        message.update(dict.fromkeys(("reasoning_content", "reasoning", "thinking"), reasoning))
    tool_calls = []
    for id, name, arguments in calls:
        shown_arguments = json.dumps(arguments, ensure_ascii=False) if shape.has_text_arguments else arguments
        tool_calls.append(
            {"id": id, "type": "function", "function": {"name": name, "arguments": shown_arguments}}
        )
    return {**message, "tool_calls": tool_calls} if tool_calls else message


_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}


def tools_of(calls: Iterable[Call]) -> list[dict[str, Any]]:
    """Return the tools of the calls, with the types of their arguments."""
    tools: dict[str, dict[str, Any]] = {}
    for call in calls:
        properties = tools.setdefault(call.name, {})
        for key, value in call.arguments.items():
            properties[key] = {"type": _TYPES.get(type(value), "null"), "description": "A value."}
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": "A tool.",
                "parameters": {"type": "object", "properties": properties, "required": []},
            },
        }
        for name, properties in tools.items()
    ]

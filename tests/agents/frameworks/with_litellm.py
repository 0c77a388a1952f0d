"""litellm's library over chat, Responses, Messages and completions."""

from __future__ import annotations

import json
from typing import Any

import litellm
from cases import END, TEXT, URL, WEATHER, Weather, case, get_weather

AT = {"api_base": f"{URL}/v1", "api_key": "none"}
WAYS: dict[str, dict[str, Any]] = {
    "chat": {"model": "openai/chat", **AT},
    "messages": {"model": "anthropic/messages", "api_base": URL, "api_key": "none", "max_tokens": 4000},
}
HELLO = [{"role": "user", "content": "Hello"}]
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def loop(way: dict[str, Any], streamed: bool) -> Any:
    """Runs the calls of an answer, until there are none."""
    messages: list[Any] = [*HELLO]
    while True:
        answer = litellm.completion(messages=messages, tools=[TOOL], stream=streamed, **way)
        answer = litellm.stream_chunk_builder(list(answer)) if streamed else answer
        message = answer.choices[0].message
        if not message.tool_calls:
            return message.content
        messages.append(message)
        for call in message.tool_calls:
            result = get_weather(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


for api, way in WAYS.items():

    @case(api, "text", TEXT)
    def text(way: Any = way) -> Any:
        return litellm.completion(messages=HELLO, **way).choices[0].message.content

    @case(api, "streamed text", TEXT)
    def streamed(way: Any = way) -> str:
        chunks = litellm.completion(messages=HELLO, stream=True, **way)
        return "".join(chunk.choices[0].delta.content or "" for chunk in chunks)

    @case(api, "tool loop", END)
    def tools(way: Any = way) -> Any:
        return loop(way, streamed=False)

    @case(api, "streamed tool loop", END)
    def streamed_tools(way: Any = way) -> Any:
        return loop(way, streamed=True)

    @case(api, "object", WEATHER)
    def structured(way: Any = way) -> Any:
        answer = litellm.completion(messages=HELLO, response_format=Weather, **way)
        return Weather.model_validate_json(answer.choices[0].message.content)


@case("responses", "text", TEXT)
def responses() -> Any:
    return litellm.responses(model="openai/responses", input="Hello", **AT).output_text


@case("responses", "streamed text", TEXT)
def streamed_responses() -> str:
    stream = litellm.responses(model="openai/responses", input="Hello", stream=True, **AT)
    return "".join(event.delta for event in stream if event.type == "response.output_text.delta")


@case("completions", "text", TEXT)
def completions() -> str:
    answer = litellm.text_completion(model="text-completion-openai/completions", prompt="Hello", **AT)
    return str(answer.choices[0].text).strip()

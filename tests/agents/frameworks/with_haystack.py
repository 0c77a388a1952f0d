"""haystack over chat and Responses."""

from __future__ import annotations

from typing import Any

from cases import END, TEXT, URL, WEATHER, Weather, case, get_weather
from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator, OpenAIResponsesChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import create_tool_from_function
from haystack.utils import Secret

HELLO = [ChatMessage.from_user("Hello")]
KINDS = {"chat": OpenAIChatGenerator, "responses": OpenAIResponsesChatGenerator}

for api, kind in KINDS.items():

    def make(api: str = api, kind: Any = kind, **options: Any) -> Any:
        return kind(model=api, api_base_url=f"{URL}/v1", api_key=Secret.from_token("none"), **options)

    @case(api, "text", TEXT)
    def text(make: Any = make) -> Any:
        return make().run(HELLO)["replies"][0].text

    @case(api, "streamed text", TEXT)
    def streamed(make: Any = make) -> str:
        chunks: list[Any] = []
        make(streaming_callback=chunks.append).run(HELLO)
        return "".join(chunk.content for chunk in chunks)

    @case(api, "tool loop", END)
    def tools(make: Any = make) -> Any:
        agent = Agent(chat_generator=make(), tools=[create_tool_from_function(get_weather)])
        return agent.run(HELLO)["messages"][-1].text

    @case(api, "streamed tool loop", END)
    def streamed_tools(make: Any = make) -> str:
        chunks: list[Any] = []
        agent = Agent(chat_generator=make(), tools=[create_tool_from_function(get_weather)])
        return str(agent.run(HELLO, streaming_callback=chunks.append)["messages"][-1].text)

    @case(api, "object", WEATHER)
    def structured(make: Any = make, api: str = api) -> Any:
        name = "response_format" if api == "chat" else "text_format"
        reply = make(generation_kwargs={name: Weather}).run(HELLO)["replies"][0]
        return Weather.model_validate_json(reply.text)

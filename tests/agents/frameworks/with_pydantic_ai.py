"""pydantic-ai over chat, Responses, Messages and Google's API."""

from __future__ import annotations

from typing import Any

from cases import END, TEXT, URL, WEATHER, Weather, case, get_weather
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider


def model_of(api: str) -> Any:
    openai = {"base_url": f"{URL}/v1", "api_key": "none"}
    if api == "chat":
        return OpenAIChatModel(api, provider=OpenAIProvider(**openai))
    if api == "responses":
        return OpenAIResponsesModel(api, provider=OpenAIProvider(**openai))
    if api == "messages":
        return AnthropicModel(api, provider=AnthropicProvider(base_url=URL, api_key="none"))
    return GoogleModel(api, provider=GoogleProvider(base_url=URL, api_key="none"))


async def streamed(agent: Agent[None, str]) -> str:
    async with agent.run_stream("The weather in Paris?") as run:
        return "".join([text async for text in run.stream_text(delta=True, debounce_by=None)])


for api in ("chat", "responses", "messages", "google"):

    @case(api, "text", TEXT)
    async def text(api: str = api) -> str:
        return (await Agent(model_of(api)).run("Hello")).output

    @case(api, "streamed text", TEXT)
    async def streamed_text(api: str = api) -> str:
        return await streamed(Agent(model_of(api)))

    @case(api, "tool loop", END)
    async def tools(api: str = api) -> str:
        return (await Agent(model_of(api), tools=[get_weather]).run("?")).output

    @case(api, "streamed tool loop", END)
    async def streamed_tools(api: str = api) -> str:
        return await streamed(Agent(model_of(api), tools=[get_weather]))

    @case(api, "object by a tool", WEATHER)
    async def by_tool(api: str = api) -> Any:
        return (await Agent(model_of(api), output_type=Weather).run("?")).output

    if api == "messages":  # it knows no model of Anthropic's by this name
        continue

    @case(api, "object", WEATHER)
    async def structured(api: str = api) -> Any:
        return (await Agent(model_of(api), output_type=NativeOutput(Weather)).run("?")).output

"""semantic-kernel over chat."""

from __future__ import annotations

from typing import Any

from cases import END, TEXT, URL, WEATHER, Weather, case, get_weather
from openai import AsyncOpenAI
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion, OpenAIChatPromptExecutionSettings
from semantic_kernel.functions import KernelArguments, kernel_function


def make(**options: Any) -> ChatCompletionAgent:
    """An agent; its client belongs to the event loop of its case."""
    service = OpenAIChatCompletion("chat", async_client=AsyncOpenAI(base_url=f"{URL}/v1", api_key="none"))
    return ChatCompletionAgent(service=service, name="a", instructions="Help.", **options)


class Plugin:
    """Has the tool; its name comes before the tool's."""

    @kernel_function
    def get_weather(self, city: str) -> str:
        """Say the weather in a city."""
        return get_weather(city)


@case("chat", "text", TEXT)
async def text() -> str:
    return str((await make().get_response("Hello")).content)


@case("chat", "streamed text", TEXT)
async def streamed() -> str:
    return "".join([str(part.content) async for part in make().invoke_stream("Hello")])


@case("chat", "tool loop", END)
async def tools() -> str:
    return str((await make(plugins=[Plugin()]).get_response("?")).content)


@case("chat", "streamed tool loop", END)
async def streamed_tools() -> str:
    return "".join([str(part.content) async for part in make(plugins=[Plugin()]).invoke_stream("?")])


@case("chat", "object", WEATHER)
async def structured() -> Any:
    settings = OpenAIChatPromptExecutionSettings(response_format=Weather)
    answer = await make(arguments=KernelArguments(settings=settings)).get_response("?")
    return Weather.model_validate_json(str(answer.content))

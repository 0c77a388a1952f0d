"""agno: OpenAIChat and OpenAILike over chat, OpenAIResponses, Claude over Messages."""

from __future__ import annotations

from typing import Any

from agno.agent import Agent, RunEvent
from agno.models.anthropic import Claude
from agno.models.openai import OpenAIChat, OpenAIResponses
from cases import END, TEXT, URL, WEATHER, Weather, case, get_weather

MODELS: dict[str, Any] = {
    "chat": OpenAIChat(id="chat", base_url=f"{URL}/v1", api_key="none"),
    "responses": OpenAIResponses(id="responses", base_url=f"{URL}/v1", api_key="none"),
    "messages": Claude(id="messages", api_key="none", client_params={"base_url": URL}),
}


def streamed(agent: Agent) -> str:
    events = agent.run("The weather in Paris?", stream=True)
    return "".join(
        event.content for event in events if event.event == RunEvent.run_content.value and event.content
    )


for api, model in MODELS.items():

    @case(api, "text", TEXT)
    def text(model: Any = model) -> Any:
        return Agent(model=model).run("Hello").content

    @case(api, "streamed text", TEXT)
    def streamed_text(model: Any = model) -> str:
        return streamed(Agent(model=model))

    @case(api, "tool loop", END)
    def tools(model: Any = model) -> Any:
        return Agent(model=model, tools=[get_weather]).run("?").content

    @case(api, "streamed tool loop", END)
    def streamed_tools(model: Any = model) -> str:
        return streamed(Agent(model=model, tools=[get_weather]))

    @case(api, "object", WEATHER)
    def structured(model: Any = model) -> Any:
        return Agent(model=model, output_schema=Weather).run("?").content

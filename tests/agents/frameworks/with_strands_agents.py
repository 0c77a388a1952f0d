"""strands over chat, Responses and Messages."""

from __future__ import annotations

from typing import Any

from cases import END, TEXT, URL, WEATHER, Weather, case, get_weather
from strands import Agent, tool
from strands.models.anthropic import AnthropicModel
from strands.models.openai import OpenAIModel
from strands.models.openai_responses import OpenAIResponsesModel

OPENAI = {"client_args": {"base_url": f"{URL}/v1", "api_key": "none"}}
MODELS: dict[str, Any] = {
    "chat": OpenAIModel(model_id="chat", **OPENAI),
    "responses": OpenAIResponsesModel(model_id="responses", **OPENAI),
    "messages": AnthropicModel(
        model_id="messages", max_tokens=4000, client_args={"base_url": URL, "api_key": "none"},
        params={"thinking": {"type": "enabled", "budget_tokens": 2000}},
    ),
}  # fmt: skip


async def streamed(agent: Agent) -> str:
    return "".join([event["data"] async for event in agent.stream_async("Paris?") if "data" in event])


for api, model in MODELS.items():

    @case(api, "text", TEXT)
    def text(model: Any = model) -> str:
        return str(Agent(model, callback_handler=None)("Hello")).strip()

    @case(api, "streamed text", TEXT)
    async def streamed_text(model: Any = model) -> str:
        return await streamed(Agent(model, callback_handler=None))

    @case(api, "tool loop", END)
    def tools(model: Any = model) -> str:
        return str(Agent(model, tools=[tool(get_weather)], callback_handler=None)("?")).strip()

    @case(api, "streamed tool loop", END)
    async def streamed_tools(model: Any = model) -> str:
        return await streamed(Agent(model, tools=[tool(get_weather)], callback_handler=None))

    @case(api, "object", WEATHER)
    def structured(model: Any = model) -> Any:
        return Agent(model, callback_handler=None)("?", structured_output_model=Weather).structured_output

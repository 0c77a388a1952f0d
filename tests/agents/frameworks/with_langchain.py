"""langchain: ChatOpenAI over chat and Responses, ChatAnthropic over Messages."""

from __future__ import annotations

from typing import Any

from cases import END, TEXT, URL, WEATHER, Weather, case, get_weather
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI

MODELS: dict[str, Any] = {
    "chat": ChatOpenAI(model="chat", base_url=f"{URL}/v1", api_key="none"),
    "responses": ChatOpenAI(
        model="responses", base_url=f"{URL}/v1", api_key="none", use_responses_api=True,
        reasoning={"effort": "medium", "summary": "auto"}, include=["reasoning.encrypted_content"],
    ),
    "messages": ChatAnthropic(
        model="messages", base_url=URL, api_key="none", max_tokens=4000,
        thinking={"type": "enabled", "budget_tokens": 2000},
    ),
}  # fmt: skip

for api, model in MODELS.items():

    @case(api, "text", TEXT)
    def text(model: Any = model) -> str:
        return str(model.invoke("Hello").text)

    @case(api, "streamed text", TEXT)
    def streamed(model: Any = model) -> str:
        return "".join(str(chunk.text) for chunk in model.stream("Hello"))

    @case(api, "tool loop", END)
    def tools(model: Any = model) -> str:
        answer = create_agent(model, [get_weather]).invoke({"messages": [("user", "The weather in Paris?")]})
        return str(answer["messages"][-1].text)

    @case(api, "streamed tool loop", END)
    def streamed_tools(model: Any = model) -> str:
        agent = create_agent(model, [get_weather])
        chunks = [chunk for chunk, _ in agent.stream({"messages": [("user", "?")]}, stream_mode="messages")]
        return "".join(str(chunk.text) for chunk in chunks if chunk.type == "AIMessageChunk")

    @case(api, "object", WEATHER)
    def structured(model: Any = model) -> Any:
        return model.with_structured_output(Weather, method="json_schema").invoke("The weather?")

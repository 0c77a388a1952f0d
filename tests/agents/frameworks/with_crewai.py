"""crewai over chat and Responses."""

from __future__ import annotations

from typing import Any

from cases import END, TEXT, URL, WEATHER, Weather, case, get_weather
from crewai import LLM, Agent
from crewai.tools import tool

for api in ("chat", "responses"):

    def make(api: str = api, **options: Any) -> LLM:
        way = {"api": "responses"} if api == "responses" else {}
        return LLM(model=f"openai/{api}", base_url=f"{URL}/v1", api_key="none", **way, **options)

    @case(api, "text", TEXT)
    def text(make: Any = make) -> Any:
        return make().call("Hello")

    @case(api, "streamed text", TEXT)
    def streamed(make: Any = make) -> Any:
        return make(stream=True).call("Hello")

    @case(api, "tool loop", END)
    def tools(make: Any = make) -> Any:
        agent = Agent(role="r", goal="g", backstory="b", llm=make(), tools=[tool("get_weather")(get_weather)])
        return agent.kickoff("The weather in Paris?").raw

    @case(api, "object", WEATHER)
    def structured(make: Any = make) -> Any:
        found = make(response_format=Weather).call("?")
        return found if isinstance(found, Weather) else Weather.model_validate_json(found)

"""llama-index: OpenAILike over chat and completions, OpenAIResponses."""

from __future__ import annotations

from typing import Any

from cases import END, TEXT, URL, WEATHER, Weather, case, get_weather
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage
from llama_index.llms.openai import OpenAIResponses
from llama_index.llms.openai_like import OpenAILike

AT = {"api_base": f"{URL}/v1", "api_key": "none"}
CHAT = {"is_chat_model": True, "is_function_calling_model": True, "should_use_structured_outputs": True}
MODELS: dict[str, Any] = {
    "chat": OpenAILike(model="chat", **AT, **CHAT),
    "responses": OpenAIResponses(model="responses", **AT, context_window=8000),
}
HELLO = [ChatMessage(role="user", content="Hello")]

for api, model in MODELS.items():

    @case(api, "text", TEXT)
    def text(model: Any = model) -> str:
        return str(model.chat(HELLO).message.content)

    @case(api, "streamed text", TEXT)
    def streamed(model: Any = model) -> str:
        return "".join(chunk.delta or "" for chunk in model.stream_chat(HELLO))

    @case(api, "tool loop", END)
    async def tools(model: Any = model) -> str:
        return str(await FunctionAgent(tools=[get_weather], llm=model, streaming=False).run("?"))

    @case(api, "streamed tool loop", END)
    async def streamed_tools(model: Any = model) -> str:
        return str(await FunctionAgent(tools=[get_weather], llm=model).run("?"))

    @case(api, "object", WEATHER)
    def structured(model: Any = model) -> Any:
        return model.as_structured_llm(Weather).chat(HELLO).raw


@case("completions", "text", TEXT)
def completed() -> str:
    return OpenAILike(model="completions", **AT).complete("Hello").text.strip()

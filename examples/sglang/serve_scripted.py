"""SGLang's chat endpoint with scripted answers: its arguments, parsers and SSE, without a model.

    python examples/sglang/serve_scripted.py --tool-call-parser unspool_qwen3 --reasoning-parser unspool_qwen3

What is SGLang's: the plug-in loader, the command line, `OpenAIServingChat`, its request and chunk classes.
What is ours: where an engine would stand, `ScriptedEngine` gives the answer's text some characters a step.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from sglang.srt.entrypoints.openai.protocol import ChatCompletionRequest

ANSWER = """<think>
The user wants the weather in Zürich.
</think>

I look it up.
<tool_call>
{"name": "get_weather", "arguments": {"city": "Zürich", "days": 3}}
</tool_call>"""


class ScriptedEngine:
    """Replaces SGLang's tokenizer manager; every answer is `text`, `step` characters at a time."""

    def __init__(self, server_args: Any, text: str, *, step: int = 3, finish_reason: str = "stop") -> None:
        self.server_args = server_args
        self.model_path = self.served_model_name = "scripted"
        self.model_config = SimpleNamespace(
            is_multimodal=False,
            hf_config=SimpleNamespace(model_type="scripted", architectures=["Scripted"]),
            get_default_sampling_params=dict,
        )
        self.tokenizer = SimpleNamespace(
            encode=lambda text, **_: list(text.encode()), decode=lambda ids, **_: bytes(ids).decode(), chat_template=None,
            bos_token_id=None,
        )  # fmt: skip
        self.request_logger = SimpleNamespace(log_requests=False, log_requests_level=0)
        self.text, self.step, self.finish_reason = text, step, finish_reason

    def config_value(self, name: str) -> Any:
        """A setting of the server."""
        return getattr(self.server_args, name)

    def create_abort_task(self, request: Any) -> None:
        """There is nothing to abort."""

    async def generate_request(self, request: Any, raw_request: Any) -> AsyncIterator[dict[str, Any]]:  # noqa: ARG002
        """The text generated so far, step by step; or all of it, if the request does not stream."""
        steps = range(self.step, len(self.text), self.step) if request.stream else ()
        for length in [*steps, len(self.text)]:
            ends = length == len(self.text)
            finish_reason = {"type": self.finish_reason, "matched": None} if ends else None
            meta = {
                "id": "chatcmpl-scripted", "prompt_tokens": 1, "completion_tokens": length, "cached_tokens": 0,
                "weight_version": "none", "finish_reason": finish_reason,
            }  # fmt: skip
            output = {"text": self.text[:length], "meta_info": meta, "index": 0}
            yield output if request.stream else [output]


def make_chat(server_args: Any, text: str = ANSWER, *, forces_reasoning: bool = False, **options: Any) -> Any:
    """SGLang's `OpenAIServingChat` over a `ScriptedEngine`."""
    from sglang.srt.entrypoints.openai.serving_chat import OpenAIServingChat

    template = SimpleNamespace(
        chat_template_name="chatml", jinja_template_content_format=None, completion_template_name=None,
        reasoning_config=None, force_reasoning=forces_reasoning, python_chat_template=None,
        jinja_template_may_reorder_tool_results=False,
    )  # fmt: skip
    return OpenAIServingChat(ScriptedEngine(server_args, text, **options), template)


def parse_arguments(arguments: list[str]) -> Any:
    """SGLang's command line, which has our parsers once the plug-ins are loaded."""
    from sglang.srt.plugins import load_plugins
    from sglang.srt.runtime_context import publish
    from sglang.srt.server_args import prepare_server_args

    load_plugins()
    # "dummy" is the name that SGLang's own tests use for a missing model.
    server_args = prepare_server_args([*arguments, "--model-path", "dummy", "--device", "cpu"])
    publish(server_args, role="tokenizer")
    return server_args


def main(arguments: list[str]) -> None:
    """Serve /v1/chat/completions."""
    server_args = parse_arguments(arguments)
    chat = make_chat(server_args)
    app = FastAPI()

    @app.get("/v1/models")
    async def models() -> Any:
        return {"object": "list", "data": [{"id": "scripted", "object": "model"}]}

    @app.post("/v1/chat/completions")
    async def complete(request: ChatCompletionRequest, raw_request: Request) -> Any:
        return await chat.handle_request(request, raw_request)

    uvicorn.run(app, host=server_args.host, port=server_args.port, log_level="warning")


if __name__ == "__main__":
    main(sys.argv[1:])

"""GET /v1/models, and POST /v1/tokenize, /v1/count_tokens, /v1/messages/count_tokens."""

from __future__ import annotations

from typing import Any

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from unspool.serve.api_errors import ApiError, as_api_error
from unspool.serve.begin_answer import template_kwargs_of
from unspool.serve.body import read_body
from unspool.serve.completions import read_prompt_field
from unspool.serve.fields import Fields, unfit
from unspool.serve.messages import read_messages_count
from unspool.serve.requests import read_messages, read_tools
from unspool.serve.served_model import check_template, check_template_kwargs, count_tokens, tokenize
from unspool.serve.state import ServerState, state_of

__all__ = ["model_routes"]


def _entry(state: ServerState, name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": state.created, "owned_by": "unspool"}


async def _list_models(request: Request) -> Response:
    state = state_of(request)
    entries = [_entry(state, name) for name in state.check_ready()]
    return JSONResponse({"object": "list", "data": entries, "has_more": False})


async def _get_model(request: Request) -> Response:
    state = state_of(request)
    name = request.path_params["name"]
    await state.find_model(name)
    return JSONResponse(_entry(state, name))


async def _tokenize(request: Request) -> Response:
    """The ids of a prompt, or of messages as the chat template writes them."""
    read = await read_body(request, _read_tokenize)
    name, prompt, shown, template_kwargs = read
    model = await state_of(request).find_model(name)
    check_template_kwargs(model, template_kwargs)
    check_template(model, prompt, shown)
    ids = await _in_thread(tokenize, model, prompt, shown, template_kwargs)
    return JSONResponse({"model": name, "count": len(ids), "tokens": ids})


def _read_tokenize(data: Any) -> tuple[str, Any, Any, dict[str, Any]]:
    """The model's name, the prompt, the tools and the template's variables."""
    fields = Fields(data)
    name = fields.require("model", fields.text("model"))
    messages = fields.items("messages")
    prompt: Any
    shown, template_kwargs = None, {}
    if messages is None:
        prompt = read_prompt_field(fields)
    else:
        prompt = read_messages(messages)
        shown = read_tools(fields.items("tools"), None, None).shown
        template_kwargs = fields.mapping("chat_template_kwargs") or {}
    fields.end()
    return name, prompt, shown, template_kwargs


async def _count_tokens(request: Request) -> Response:
    """As EasyDeL has it: {model, conversation} -> {model, count}."""
    name, conversation = await read_body(request, _read_count)
    model = await state_of(request).find_model(name)
    check_template(model, conversation, None)
    count = await _in_thread(count_tokens, model, conversation)
    return JSONResponse({"model": name, "count": count})


def _read_count(data: Any) -> tuple[str, Any]:
    fields = Fields(data)
    name = fields.require("model", fields.text("model"))
    conversation = fields.any("conversation")
    fields.end()
    if isinstance(conversation, list):
        conversation = read_messages(conversation, "conversation")
    elif not isinstance(conversation, str):
        raise unfit("conversation", "'conversation' must be a text or a list of messages")
    elif not conversation:
        raise ApiError(400, "'conversation' is empty; send a text or messages", param="conversation")
    return name, conversation


async def _count_messages(request: Request) -> Response:
    """As Anthropic has it: a body of Messages -> {input_tokens}."""
    state = state_of(request)
    read = await read_body(request, read_messages_count)
    model = await state.find_model(read.model)
    template_kwargs = template_kwargs_of(model, read)
    check_template(model, read.prompt, read.tools.shown)
    count = await _in_thread(count_tokens, model, read.prompt, read.tools.shown, template_kwargs)
    return JSONResponse({"input_tokens": count})


async def _in_thread(function: Any, *arguments: Any) -> Any:
    try:
        return await anyio.to_thread.run_sync(function, *arguments)
    except Exception as error:
        raise as_api_error(error) from error


def model_routes() -> list[Route]:
    """The routes that list models and count tokens."""
    return [
        Route("/v1/models", _list_models),
        Route("/v1/models/{name:path}", _get_model),
        Route("/v1/tokenize", _tokenize, methods=["POST"]),
        Route("/v1/count_tokens", _count_tokens, methods=["POST"]),
        Route("/v1/messages/count_tokens", _count_messages, methods=["POST"]),
    ]

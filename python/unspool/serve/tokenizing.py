"""POST /tokenize and /detokenize, in vLLM's shapes; /v1/tokenize and /v1/count_tokens in shapes of our own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from unspool.errors import ArgumentError
from unspool.serve.api_errors import ApiError, as_api_error
from unspool.serve.begin_answer import template_kwargs_of
from unspool.serve.body import read_body
from unspool.serve.completions import read_prompt_field
from unspool.serve.fields import Fields, unfit
from unspool.serve.messages import read_messages_count
from unspool.serve.requests import read_messages, read_tools
from unspool.serve.served_model import check_template, check_template_kwargs, count_tokens, tokenize
from unspool.serve.state import state_of

__all__ = ["TOKENIZING_READERS", "tokenizing_routes"]


@dataclass(frozen=True, kw_only=True)
class TokenizeRequest:
    """What to tokenize.

    Attributes:
        model: The model's name; None: the only one that there is.
        prompt: A text, token ids, or messages, which the chat template writes with `tools`.
        adds_special_tokens: Whether a text gets the tokens that the tokenizer puts around it.
        wants_texts: Whether each token's text is returned too.
    """

    model: str | None
    prompt: Any
    tools: Any = None
    template_kwargs: dict[str, Any] = field(default_factory=dict)
    adds_special_tokens: bool = True
    wants_texts: bool = False


def read_tokenize(data: Any) -> TokenizeRequest:
    """A body of /tokenize."""
    fields = Fields(data)
    model = fields.text("model")
    wants_texts = fields.flag("return_token_strs")
    messages = fields.items("messages")
    if messages is None:
        prompt = fields.require("prompt", fields.text("prompt"))
        adds = fields.flag("add_special_tokens", True)
        fields.end()
        return TokenizeRequest(model=model, prompt=prompt, adds_special_tokens=adds, wants_texts=wants_texts)
    own_template = "the server's own template is run, as for an answer"
    fields.only("add_special_tokens", False, why="the chat template writes them")
    fields.only("add_generation_prompt", True, why=own_template)
    fields.only("continue_final_message", False, why=own_template)
    fields.only("chat_template", why=own_template)
    request = _read_chat(fields, model, messages)
    fields.end()
    return TokenizeRequest(**{**vars(request), "wants_texts": wants_texts})


def read_own_tokenize(data: Any) -> TokenizeRequest:
    """A body of /v1/tokenize."""
    fields = Fields(data)
    model = fields.require("model", fields.text("model"))
    messages = fields.items("messages")
    if messages is None:
        request = TokenizeRequest(model=model, prompt=read_prompt_field(fields))
    else:
        request = _read_chat(fields, model, messages)
    fields.end()
    return request


def _read_chat(fields: Fields, model: str | None, messages: list[Any]) -> TokenizeRequest:
    return TokenizeRequest(
        model=model,
        prompt=read_messages(messages),
        tools=read_tools(fields.items("tools"), None, None).shown,
        template_kwargs=fields.mapping("chat_template_kwargs") or {},
    )


def read_detokenize(data: Any) -> tuple[str | None, list[int]]:
    """A body of /detokenize: the model's name, and token ids."""
    fields = Fields(data)
    model = fields.text("model")
    tokens = fields.require("tokens", fields.items("tokens"))
    fields.end()
    if not all(type(id) is int for id in tokens):
        raise unfit("tokens", "'tokens' must be a list of token ids")
    return model, tokens


def read_count(data: Any) -> tuple[str, Any]:
    """A body of /v1/count_tokens: the model's name, and a text or messages."""
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


#: Each path's reader.
TOKENIZING_READERS: dict[str, Any] = {
    "/tokenize": read_tokenize,
    "/detokenize": read_detokenize,
    "/v1/tokenize": read_own_tokenize,
    "/v1/count_tokens": read_count,
    "/v1/messages/count_tokens": read_messages_count,
}


async def _tokenize(request: Request) -> Response:
    read = await read_body(request, read_tokenize)
    _, model = await _find(request, read.model)
    ids = await _ids(model, read)
    texts = None
    if read.wants_texts:
        texts = await _in_thread(_tokenizer_of(model, "return token texts").convert_ids_to_tokens, ids)
    length = getattr(model, "context_length", None)
    return JSONResponse({"count": len(ids), "max_model_len": length, "tokens": ids, "token_strs": texts})


async def _detokenize(request: Request) -> Response:
    name, ids = await read_body(request, read_detokenize)
    _, model = await _find(request, name)
    tokenizer = _tokenizer_of(model, "detokenize")
    unknown = next((id for id in ids if not 0 <= id < len(tokenizer)), None)
    if unknown is not None:
        raise ApiError(
            400,
            f"token id {unknown} is not the model's; its ids are 0 to {len(tokenizer) - 1}",
            param="tokens",
        )
    return JSONResponse({"prompt": await _in_thread(tokenizer.decode, ids)})


async def _own_tokenize(request: Request) -> Response:
    read = await read_body(request, read_own_tokenize)
    name, model = await _find(request, read.model)
    ids = await _ids(model, read)
    return JSONResponse({"model": name, "count": len(ids), "tokens": ids})


async def _count_tokens(request: Request) -> Response:
    """As EasyDeL has it: {model, conversation} -> {model, count}."""
    asked, conversation = await read_body(request, read_count)
    name, model = await _find(request, asked)
    check_template(model, conversation, None)
    count = await _in_thread(count_tokens, model, conversation)
    return JSONResponse({"model": name, "count": count})


async def _count_messages(request: Request) -> Response:
    """As Anthropic has it: a body of Messages -> {input_tokens}."""
    read = await read_body(request, read_messages_count)
    _, model = await _find(request, read.model)
    template_kwargs = template_kwargs_of(model, read)
    check_template(model, read.prompt, read.tools.shown)
    count = await _in_thread(count_tokens, model, read.prompt, read.tools.shown, template_kwargs)
    return JSONResponse({"input_tokens": count})


async def _find(request: Request, name: str | None) -> tuple[str, Any]:
    state = state_of(request)
    models = state.check_ready()
    if name is None:
        if len(models) != 1:
            raise unfit("model", f"'model' is missing, and this server has {len(models)} models")
        (name,) = models
    return name, await state.find_model(name)


async def _ids(model: Any, read: TokenizeRequest) -> list[int]:
    check_template_kwargs(model, read.template_kwargs)
    check_template(model, read.prompt, read.tools)
    if read.adds_special_tokens:
        return list(await _in_thread(tokenize, model, read.prompt, read.tools, read.template_kwargs))
    tokenizer = _tokenizer_of(model, "leave special tokens out")
    encoded = await _in_thread(lambda: tokenizer(read.prompt, add_special_tokens=False))
    return list(encoded["input_ids"])


def _tokenizer_of(model: Any, ability: str) -> Any:
    tokenizer = getattr(model, "tokenizer", None)
    if tokenizer is None:
        raise as_api_error(ArgumentError(f"this model cannot {ability}: it has no tokenizer"))
    return tokenizer


async def _in_thread(function: Any, *arguments: Any) -> Any:
    try:
        return await anyio.to_thread.run_sync(function, *arguments)
    except Exception as error:
        raise as_api_error(error) from error


def tokenizing_routes() -> list[Route]:
    """The routes that tokenize, detokenize and count."""
    return [
        Route("/tokenize", _tokenize, methods=["POST"]),
        Route("/detokenize", _detokenize, methods=["POST"]),
        Route("/v1/tokenize", _own_tokenize, methods=["POST"]),
        Route("/v1/count_tokens", _count_tokens, methods=["POST"]),
        Route("/v1/messages/count_tokens", _count_messages, methods=["POST"]),
    ]

"""POST /tokenize and /detokenize of vLLM's API, EasyDeL's /v1/count_tokens, and Anthropic's under /v1/messages."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from unspool.errors import ArgumentError
from unspool.generation.served_model import ServedModel
from unspool.serve.body import read_body
from unspool.serve.http.api_errors import ApiError, as_api_error
from unspool.serve.models.begin_answer import template_kwargs_of
from unspool.serve.models.template_checks import check_template, check_template_kwargs
from unspool.serve.state import state_of
from unspool.serve.wires.chat_messages import ChatMessage, read_chat
from unspool.serve.wires.generation_request import GenerationRequest
from unspool.serve.wires.google import read_google_count
from unspool.serve.wires.messages import read_messages_count
from unspool.serve.wires.tools import ChatTool, offered_in, read_tools
from unspool.serve.wires.wire import Wire, refused, take, unfit

__all__ = [
    "ConversationRequest", "DetokenizeRequest", "TokenizeChat", "TokenizeText", "count_google",
    "tokenizing_routes",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TokenizeRequest:
    """A request to tokenize a prompt.

    Attributes:
        model: The model's name; None: the only model.
        prompt: A text, token ids, or messages, which the chat template renders with `tools`.
        adds_special_tokens: Whether to add the tokenizer's special tokens around a text.
        wants_texts: Whether each token's text is returned too.
    """

    model: str | None
    prompt: Any
    tools: Any = None
    template_kwargs: dict[str, Any] = field(default_factory=dict)
    adds_special_tokens: bool = True
    wants_texts: bool = False


class TokenizeText(Wire, kw_only=True):
    """A body of /tokenize with a text."""

    model: str | None = None
    prompt: str
    add_special_tokens: bool = True
    return_token_strs: bool = False


_OWN_TEMPLATE = "the server's own template is run, as for an answer"


class TokenizeChat(Wire, kw_only=True):
    """A body of /tokenize with messages."""

    model: str | None = None  # None: the only model
    messages: list[ChatMessage]
    tools: list[ChatTool] | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    return_token_strs: bool = False
    add_special_tokens: Annotated[Any, refused(False, why="the chat template writes them")] = None
    add_generation_prompt: Annotated[Any, refused(True, why=_OWN_TEMPLATE)] = None
    continue_final_message: Annotated[Any, refused(False, why=_OWN_TEMPLATE)] = None
    chat_template: Annotated[Any, refused(why=_OWN_TEMPLATE)] = None


class DetokenizeRequest(Wire, kw_only=True):
    model: str | None = None
    tokens: list[int]


class ConversationRequest(Wire, kw_only=True):
    model: str
    conversation: str | list[ChatMessage]


def read_tokenize(data: Any) -> TokenizeRequest:
    """Read a body of /tokenize."""
    if isinstance(data, dict) and data.get("messages") is not None:
        chat = take(TokenizeChat, data)
        return TokenizeRequest(
            model=chat.model,
            prompt=read_chat(chat.messages),
            tools=read_tools(offered_in(data)).shown,
            template_kwargs=chat.chat_template_kwargs or {},
            wants_texts=chat.return_token_strs,
        )
    text = take(TokenizeText, data)
    return TokenizeRequest(
        model=text.model,
        prompt=text.prompt,
        adds_special_tokens=text.add_special_tokens,
        wants_texts=text.return_token_strs,
    )


def read_count(data: Any) -> tuple[str, Any]:
    """Read a body of /v1/count_tokens: the model's name, and a text or messages."""
    body = take(ConversationRequest, data)
    if body.conversation == "":
        raise ApiError(400, "'conversation' is empty; send a text or messages", param="conversation")
    if isinstance(body.conversation, str):
        return body.model, body.conversation
    return body.model, read_chat(body.conversation, "conversation")


async def _tokenize(request: Request) -> Response:
    read = await read_body(request, read_tokenize)
    _, model = await _find(request, read.model)
    ids = await _ids(request, model, read)
    texts = None
    if read.wants_texts:
        texts = await _in_thread(
            request, _tokenizer_of(model, "return token texts").convert_ids_to_tokens, ids
        )
    length = model.context_length
    return JSONResponse({"count": len(ids), "max_model_len": length, "tokens": ids, "token_strs": texts})


async def _detokenize(request: Request) -> Response:
    body = await read_body(request, lambda data: take(DetokenizeRequest, data))
    _, model = await _find(request, body.model)
    tokenizer = _tokenizer_of(model, "detokenize")
    unknown = next((id for id in body.tokens if not 0 <= id < len(tokenizer)), None)
    if unknown is not None:
        raise ApiError(
            400,
            f"token id {unknown} is not the model's; its ids are 0 to {len(tokenizer) - 1}",
            param="tokens",
        )
    return JSONResponse({"prompt": await _in_thread(request, tokenizer.decode, body.tokens)})


async def _count_tokens(request: Request) -> Response:
    """Answer EasyDeL's endpoint: {model, conversation} -> {model, count}."""
    asked, conversation = await read_body(request, read_count)
    name, model = await _find(request, asked)
    check_template(model, conversation, None)
    count = await _in_thread(request, model.count_tokens, conversation)
    return JSONResponse({"model": name, "count": count})


async def _count_messages(request: Request) -> Response:
    """Answer Anthropic's endpoint: a body of Messages -> {input_tokens}."""
    return JSONResponse({"input_tokens": await _count(request, read_messages_count)})


async def count_google(request: Request) -> Response:
    """Answer Google's endpoint: a body of countTokens -> {totalTokens}."""
    name = request.path_params["name"]
    count = await _count(request, lambda data: read_google_count(data, name))
    return JSONResponse({"totalTokens": count})


async def _count(request: Request, reader: Callable[[Any], GenerationRequest]) -> int:
    read = await read_body(request, reader)
    _, model = await _find(request, read.model)
    template_kwargs = template_kwargs_of(model, read)
    check_template(model, read.prompt, read.tools.shown)
    count = functools.partial(
        model.count_tokens,
        read.prompt,
        tools=read.tools.shown,
        chat_template_kwargs=template_kwargs,
        prefill=read.prefill,
    )
    counted: int = await _in_thread(request, count)
    return counted


async def _find(request: Request, name: str | None) -> tuple[str, ServedModel]:
    state = state_of(request)
    models = state.check_ready()
    if name is None:
        if len(models) != 1:
            raise unfit("model", f"'model' is missing, and this server has {len(models)} models")
        (name,) = models
    return name, await state.find_model(name)


async def _ids(request: Request, model: ServedModel, read: TokenizeRequest) -> list[int]:
    check_template_kwargs(model, read.template_kwargs)
    check_template(model, read.prompt, read.tools)
    if read.adds_special_tokens:
        tokenize = functools.partial(
            model.tokenize, read.prompt, tools=read.tools, chat_template_kwargs=read.template_kwargs
        )
        return list(await _in_thread(request, tokenize))
    tokenizer = _tokenizer_of(model, "leave special tokens out")
    ids = await _in_thread(request, lambda: tokenizer.encode(read.prompt, add_special_tokens=False))
    if ids is None:  # an engine encodes, and adds special tokens as it likes
        raise as_api_error(ArgumentError("this model cannot leave special tokens out"))
    return list(ids)


def _tokenizer_of(model: ServedModel, ability: str) -> Any:
    tokenizer = model.tokenizer
    if tokenizer is None or getattr(tokenizer, "vocabulary", tokenizer) is None:
        raise as_api_error(ArgumentError(f"this model cannot {ability}: it has no tokenizer"))
    return tokenizer


async def _in_thread(request: Request, function: Any, *arguments: Any) -> Any:
    try:
        return await state_of(request).preparing.run(functools.partial(function, *arguments))
    except Exception as error:
        raise as_api_error(error) from error


def tokenizing_routes() -> list[Route]:
    """The routes that tokenize, detokenize and count."""
    return [
        Route("/tokenize", _tokenize, methods=["POST"]),
        Route("/detokenize", _detokenize, methods=["POST"]),
        Route("/v1/count_tokens", _count_tokens, methods=["POST"]),
        Route("/v1/messages/count_tokens", _count_messages, methods=["POST"]),
    ]

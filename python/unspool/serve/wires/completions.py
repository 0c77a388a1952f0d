"""POST /v1/completions: the model's text, unparsed."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from unspool.serve.http.api_errors import ApiError
from unspool.serve.http.ignored import ignore
from unspool.serve.wires.generation_request import GenerationRequest
from unspool.serve.wires.response_format import NestedFormat
from unspool.serve.wires.shared_fields import AnswerFields, Answers, Count, Stop, StreamOptions
from unspool.serve.wires.wire import refused, take, unfit

__all__ = ["CompletionRequest", "Prompt", "read_completion_request", "read_prompt"]

#: A text or token ids, also as the only item of a list.
Prompt = str | list[Any]


class CompletionRequest(AnswerFields, kw_only=True):
    """A body of completions."""

    prompt: Prompt
    max_tokens: Count | None = None
    n: Answers | None = None
    stop: Stop | None = None
    stream_options: StreamOptions | None = None
    logprobs: int | None = None
    response_format: NestedFormat | None = None
    best_of: Annotated[Any, Meta(description="Accepted; changes nothing: every answer is sent; use n.")] = (
        None
    )
    echo: Annotated[Any, refused(False, why="the prompt is not repeated")] = None
    suffix: Annotated[Any, refused("", why="the model writes forwards only")] = None


def read_completion_request(data: Any) -> GenerationRequest:
    """Read a body of completions, whose prompt is a text or token ids."""
    body = take(CompletionRequest, data)
    if body.best_of is not None and (type(body.best_of) is not int or body.best_of != (body.n or 1)):
        message = "'best_of' is not supported: every answer is sent; use n"
        ignore("best_of", ApiError(400, message, code="unsupported_parameter", param="best_of"))
    return GenerationRequest(
        protocol="completions",
        model=body.model,
        prompt=read_prompt(body.prompt),
        raw=True,
        sampling=body.sampling(body.max_tokens, body.stop, body.n, body.logprobs),
        stream=body.stream,
        include_usage=body.stream and body.stream_options is not None and body.stream_options.include_usage,
        metadata=body.metadata or {},
        response=body.response(body.response_format, "response_format"),
    )


def read_prompt(prompt: str | list[Any]) -> str | list[int]:
    """Return the prompt as a text or token ids.

    Raises:
        ApiError: 400, the prompt is empty, or there are several; 422, it is a list of other values.
    """
    if isinstance(prompt, list) and prompt and isinstance(prompt[0], (str, list)):
        if len(prompt) > 1:
            message = f"'prompt' has {len(prompt)} prompts; send a request for each"
            raise ApiError(400, message, code="unsupported_parameter", param="prompt")
        prompt = prompt[0]
    if not prompt:
        raise ApiError(400, "'prompt' is empty; send a text or token ids", param="prompt")
    if isinstance(prompt, list) and not all(type(id) is int for id in prompt):
        raise unfit("prompt", "'prompt' must be a text or a list of token ids")
    return prompt

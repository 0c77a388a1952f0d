"""POST /v1/completions: the model's text as it is."""

from __future__ import annotations

from typing import Any

from unspool.serve.api_errors import ApiError
from unspool.serve.chat import refuse_unsupported
from unspool.serve.fields import Fields, unfit
from unspool.serve.requests import GenerationRequest, read_sampling, read_stop, read_stream_options

__all__ = ["read_completion_request"]


def read_completion_request(data: Any) -> GenerationRequest:
    """A body of completions; its prompt is a text, or token ids.

    Raises:
        ApiError: 422 for an invalid body, 400 for an unsupported value.
    """
    fields = Fields(data)
    model = fields.require("model", fields.text("model"))
    prompt = read_prompt_field(fields)
    stream = fields.flag("stream")
    n = fields.integer("n", least=1)
    longest, stop = fields.integer("max_tokens", least=1), read_stop(fields)
    request = GenerationRequest(
        protocol="completions",
        model=model,
        prompt=prompt,
        raw=True,
        sampling=read_sampling(fields, longest, stop, n, fields.integer("logprobs")),
        stream=stream,
        include_usage=read_stream_options(fields, stream),
        metadata=fields.mapping("metadata") or {},
    )
    refuse_unsupported(fields)
    fields.only("echo", False, why="the prompt is not repeated")
    fields.only("suffix", "", why="the model writes forwards only")
    fields.only("best_of", n or 1, why="every answer is sent; use n")
    fields.end()
    return request


def read_prompt_field(fields: Fields) -> str | list[int]:
    """`prompt`: a text or token ids, also as the only one of a list."""
    value = fields.any("prompt")
    if isinstance(value, list) and value and isinstance(value[0], (str, list)):
        if len(value) > 1:
            raise ApiError(
                400, f"'prompt' has {len(value)} prompts; send a request for each",
                code="unsupported_parameter", param="prompt",
            )  # fmt: skip
        value = value[0]
    if value is None:
        raise unfit("prompt", "'prompt' is missing")
    if value in ("", []):
        raise ApiError(400, "'prompt' is empty; send a text or token ids", param="prompt")
    is_ids = isinstance(value, list) and all(type(id) is int for id in value)
    if not (isinstance(value, str) or is_ids):
        raise unfit("prompt", "'prompt' must be a text or a list of token ids")
    prompt: str | list[int] = value
    return prompt

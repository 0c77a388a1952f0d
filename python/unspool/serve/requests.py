"""A request for an answer, in the common form of all protocols."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from unspool.core.stream.stream_options import IncompleteCalls, StopIn
from unspool.generation.sampling_params import SamplingParams
from unspool.serve.tools import Tools
from unspool.writing.grammar.response import Response

__all__ = ["GenerationRequest"]

Protocol = Literal["chat_completions", "completions", "responses", "messages", "open_inference", "google"]


@dataclass(frozen=True, kw_only=True)
class GenerationRequest:
    """One request: what to generate, and how to send it.

    Attributes:
        model: The model's name in the request.
        prompt: Chat messages, text, or token ids.
        raw: Reasoning and calls are content.
        effort: The reasoning effort; None: the model's default.
        thinking: Reasoning on or off; None: not set.
        template_kwargs: Variables of the chat template.
        stream: Send events, not a body.
        sse: Whether a stream is of server-sent events; Google's may be a JSON array.
        stream_arguments: As of `WireWriter`.
        include_usage: Whether a stream of chat chunks ends with the usage.
        metadata: The request's metadata.
        echo: Fields of the request that the response repeats.
        format, reasoning: The formats that the answer is to be read in; None: the model's own.
        timeout_s: Seconds without a token until the model is cancelled; None: the server's option.
        incomplete_calls, stop_in: As of `Parser`; None: the server's option.
        response: What the content is kept to; None: free text.
        keep: Called with the bytes that hold the whole answer: a body, or the last event.
        prefill: The last message is the assistant's, and the answer continues it.
    """

    protocol: Protocol
    model: str
    prompt: Any
    tools: Tools = field(default_factory=Tools)
    sampling: SamplingParams = field(default_factory=SamplingParams)
    raw: bool = False
    effort: str | None = None
    thinking: bool | None = None
    template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    stream: bool = False
    sse: bool = True
    stream_arguments: bool = False
    include_usage: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)
    echo: Mapping[str, Any] | None = None
    format: str | None = None
    reasoning: str | None = None
    timeout_s: float | None = None
    incomplete_calls: IncompleteCalls | None = None
    stop_in: StopIn | None = None
    response: Response | None = None
    prefill: bool = False
    keep: Callable[[bytes], object] = lambda _: None

"""A request for an answer, in a form that all protocols share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from unspool.core.stream.stream_options import IncompleteCalls, StopIn
from unspool.generation.sampling_params import SamplingParams
from unspool.serve.wires.tools import Tools
from unspool.writing.grammar.response import Response

__all__ = ["GenerationRequest"]

Protocol = Literal["chat_completions", "completions", "responses", "messages", "open_inference", "google"]


@dataclass(frozen=True, kw_only=True)
class GenerationRequest:
    """A request: what to generate, and how to send it.

    Attributes:
        model: The model's name in the request.
        prompt: Chat messages, text, or token ids.
        raw: Whether reasoning and calls are content.
        effort: The reasoning effort; None: the model's default.
        thinking: Whether the model reasons; None: not set.
        template_kwargs: Variables of the chat template.
        stream: Whether to send events instead of a body.
        sse: Whether a stream consists of server-sent events; Google's may be a JSON array.
        stream_arguments: As in `WireWriter`.
        include_usage: Whether a stream of chat chunks ends with the usage.
        metadata: The request's metadata.
        echo: Fields of the request that the response repeats.
        format, reasoning: The formats in which to parse the answer; None: the model's own.
        timeout_s: Seconds without a token until the model is cancelled; None: the server's option.
        incomplete_calls, stop_in: As in `Parser`; None: the server's option.
        response: The constraint of the content; None: free text.
        keep: Called with the bytes that hold the whole answer: a body, or the last event.
        prefill: Whether the answer continues the last message, which is the assistant's.
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

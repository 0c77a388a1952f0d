"""The result of a generation."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from unspool.core.stream.message import Message, ToolCall
from unspool.generation.logprobs import TokenLogprob
from unspool.generation.prefill.report import PrefillReport

__all__ = ["Choice", "StreamMetrics", "StreamResult", "Usage"]


@dataclass(frozen=True)
class Usage:
    """Token counts of all answers together, as an API reports them.

    Attributes:
        cached_tokens: How many of the prompt's tokens were in a prefix cache; None: unknown.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int | None = None

    @property
    def total_tokens(self) -> int:
        """The number of tokens in the prompt and all answers."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True)
class StreamMetrics:
    """Times and rates; the clock starts at the call, before tokenization and prefill.

    Attributes:
        prompt_tokens: The number of tokens in the prompt; 0 if only embeddings were given.
        decode_prefix_tokens: How many of them the first decoding step ran, after chunked prefill.
        output_tokens: The number of tokens in the first answer.
        time_to_first_token_ms: Milliseconds from the call to the first token; None before it.
        inter_token_ms: Milliseconds between the tokens of the first answer; one value less than there are tokens.
        prompt_tokens_per_second: Prompt tokens divided by the time to the first token.
        output_tokens_per_second: The number of tokens after the first one, divided by the seconds that they took.
        decode_time_s: Seconds from the first token to the last token of any answer.
    """

    prompt_tokens: int = 0
    decode_prefix_tokens: int = 0
    output_tokens: int = 0
    time_to_first_token_ms: float | None = None
    inter_token_ms: tuple[float, ...] = ()
    prompt_tokens_per_second: float | None = None
    output_tokens_per_second: float | None = None
    decode_time_s: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the metrics by name, for JSON: `inter_token_ms` is a list."""
        return {**dataclasses.asdict(self), "inter_token_ms": list(self.inter_token_ms)}


def measure(
    begin_s: float,
    times_s: list[float],
    prompt_tokens: int,
    decode_prefix_tokens: int,
    last_s: float | None = None,
) -> StreamMetrics:
    """Compute the metrics of an answer whose tokens arrived at these times.

    Args:
        last_s: When the last token of any answer arrived; None: when this answer's last token arrived.
    """
    if not times_s:
        return StreamMetrics(prompt_tokens, decode_prefix_tokens)
    first_s, decode_s = times_s[0] - begin_s, times_s[-1] - times_s[0]
    return StreamMetrics(
        prompt_tokens,
        decode_prefix_tokens,
        len(times_s),
        time_to_first_token_ms=first_s * 1000,
        inter_token_ms=tuple((later - earlier) * 1000 for earlier, later in itertools.pairwise(times_s)),
        prompt_tokens_per_second=prompt_tokens / first_s if first_s > 0 else None,
        output_tokens_per_second=(len(times_s) - 1) / decode_s if decode_s > 0 else None,
        decode_time_s=max(decode_s, (last_s or 0.0) - times_s[0]),
    )


@dataclass(frozen=True)
class Choice:
    """One answer.

    Attributes:
        stop_reason: The stop string that ended it, or None.
        token_ids: The ids that the model wrote, including its end token.
        logprobs: The log-probability of each id; None unless `SamplingParams.logprobs` is set.
    """

    index: int
    message: Message
    finish_reason: str | None
    stop_reason: str | None
    token_ids: tuple[int, ...]
    logprobs: tuple[TokenLogprob, ...] | None = None


@dataclass(frozen=True)
class StreamResult:
    """The result of a request; its properties describe the first answer.

    Attributes:
        metadata: A description of the run, as strings; always has the six `chunked_prefill_*` keys.
        prefill: The content of these keys as an object.
    """

    choices: tuple[Choice, ...]
    usage: Usage
    metrics: StreamMetrics
    prefill: PrefillReport
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def message(self) -> Message:
        """The first answer's message."""
        return self.choices[0].message

    @property
    def text(self) -> str:
        """The first answer's content."""
        return self.message.content

    @property
    def reasoning(self) -> str:
        """The first answer's reasoning."""
        return self.message.reasoning

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The first answer's tool calls."""
        return self.message.tool_calls

    @property
    def finish_reason(self) -> str | None:
        """Why the first answer ended: "stop", "length", "tool_calls", "error" or "cancelled"; None while it runs."""
        return self.choices[0].finish_reason

    @property
    def stop_reason(self) -> str | None:
        """The stop string that ended the first answer, or None."""
        return self.choices[0].stop_reason

    @property
    def token_ids(self) -> tuple[int, ...]:
        """The ids of the first answer."""
        return self.choices[0].token_ids

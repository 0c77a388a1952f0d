"""Fields that requests of several protocols share."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from unspool.core.stream.stream_options import IncompleteCalls, StopIn
from unspool.errors import ArgumentError
from unspool.generation.logprobs import MAX_TOP_LOGPROBS
from unspool.generation.sampling_params import SamplingParams
from unspool.serve.http.api_errors import ApiError
from unspool.serve.wires.response_format import ConstraintFields
from unspool.serve.wires.wire import Ignored, Wire, unfit, wish

__all__ = [
    "AnswerFields", "Answers", "ChatFields", "Count", "ReasoningFields", "SamplingFields", "Stop",
    "StreamOptions", "TopLogprobs", "logprob_count",
]  # fmt: skip

Count = Annotated[int, Meta(ge=1)]
#: OpenAI's limit; all answers of a request are generated at once.
Answers = Annotated[int, Meta(ge=1, le=128)]
TopLogprobs = Annotated[int, Meta(ge=0, le=MAX_TOP_LOGPROBS)]
Stop = str | list[str]
_Budget = Annotated[int, Meta(ge=0)]
_Penalty = Annotated[float, Meta(ge=-2, le=2)]

# Minimum temperature; scores that are divided by a smaller one overflow.
_LEAST_TEMPERATURE = 1e-6

# Maximum size of all stop strings; the search keeps all their prefixes.
_MAX_STOP_BYTES = 1024


class SamplingFields(ConstraintFields, kw_only=True):
    """Fields for choosing and constraining tokens, with the extensions of vLLM and others."""

    temperature: Annotated[float, Meta(ge=0)] | None = None
    top_p: Annotated[float, Meta(gt=0, le=1)] | None = None
    top_k: Annotated[int, Meta(ge=-1)] | None = None
    min_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    presence_penalty: _Penalty | None = None
    frequency_penalty: _Penalty | None = None
    repetition_penalty: Annotated[float, Meta(gt=0)] | None = None
    seed: Annotated[int, Meta(ge=0)] | None = None
    max_reasoning_tokens: _Budget | None = None
    thinking_token_budget: _Budget | None = None  # vLLM's name for the same limit
    min_tokens: Annotated[int, Meta(ge=0)] | None = None
    stop_token_ids: list[int] | None = None
    include_stop_str_in_output: bool | None = None
    ignore_eos: bool | None = None
    bad_words: list[str] | None = None
    allowed_token_ids: list[int] | None = None
    logit_bias: dict[str, float] | None = None
    skip_special_tokens: bool | None = None

    def sampling(
        self,
        max_tokens: int | None,
        stop: str | list[str] | None = None,
        n: int | None = None,
        logprobs: int | None = None,
        stop_field: str = "stop",
        budget: int | None = None,
    ) -> SamplingParams:
        """Return the sampling parameters of an answer.

        Args:
            budget: The maximum number of reasoning tokens, from the protocol's own field.

        Raises:
            ApiError: 422, a value is out of its range.
        """
        if self.temperature is not None and 0 < self.temperature < _LEAST_TEMPERATURE:
            raise unfit(
                "temperature",
                f"'temperature' is {self.temperature}; send 0 for greedy decoding, or at least {_LEAST_TEMPERATURE}",
            )
        texts = _stop_texts(stop, stop_field)
        own = set(SamplingFields.__struct_fields__) - set(ConstraintFields.__struct_fields__)
        values: dict[str, Any] = {name: getattr(self, name) for name in own}
        if self.top_k == -1:  # vLLM's "off"
            values["top_k"] = 0
        values["include_stop"] = values.pop("include_stop_str_in_output")
        budgets = (values["max_reasoning_tokens"], values.pop("thinking_token_budget"), budget)
        values["max_reasoning_tokens"] = next((tokens for tokens in budgets if tokens is not None), None)
        try:
            values |= {"max_tokens": max_tokens, "n": n, "stop": texts, "logprobs": logprobs}
            return SamplingParams(**{name: value for name, value in values.items() if value is not None})
        except (ArgumentError, TypeError) as error:
            name = str(error).removeprefix("a key of ").split("[", 1)[0].split(" ", 1)[0]
            raise unfit(name, str(error)) from None


def _stop_texts(stop: str | list[str] | None, name: str) -> tuple[str, ...]:
    texts = [stop] if isinstance(stop, str) else stop or []
    if not all(texts):
        raise unfit(name, f"'{name}' must be a text, or a list of texts, none of them empty")
    sizes = [len(text.encode()) for text in texts]
    if max(sizes, default=0) > _MAX_STOP_BYTES or sum(sizes) > 16 * _MAX_STOP_BYTES:
        limits = f"a text may have {_MAX_STOP_BYTES} bytes, all of them {16 * _MAX_STOP_BYTES}"
        raise unfit(name, f"'{name}' is too long; {limits}")
    return tuple(texts)


class ReasoningFields(Wire, kw_only=True):
    """Fields for reasoning, which is always sent whole, never as a summary."""

    effort: str | None = None
    max_tokens: _Budget | None = None
    summary: Ignored = None
    generate_summary: Ignored = None


class AnswerFields(SamplingFields, kw_only=True):
    """Fields of every endpoint that answers."""

    model: str
    stream: bool = False
    metadata: dict[str, Any] | None = None
    user: Ignored = None
    store: Ignored = None
    safety_identifier: Ignored = None
    prompt_cache_key: Ignored = None
    prompt_cache_retention: Ignored = None
    prompt_cache_options: Ignored = None
    service_tier: Annotated[Any, wish("auto", "default", "standard_only", why="there is one tier")] = None


class ChatFields(AnswerFields, kw_only=True):
    """Fields of every endpoint that answers a chat; extensions of this server."""

    incomplete_calls: IncompleteCalls | None = None
    stop_in: StopIn | None = None
    chat_template_kwargs: dict[str, Any] | None = None


class StreamOptions(Wire, kw_only=True):
    """The options of a stream of chunks."""

    include_usage: bool = False
    include_obfuscation: Ignored = None


def logprob_count(top_logprobs: int | None, is_wanted: bool, wanted_by: str) -> int | None:
    """Return the number of most likely tokens to list; None: no log-probabilities.

    Args:
        is_wanted: Whether the request asks for log-probabilities.
        wanted_by: The field that requests them, for the error.
    """
    if top_logprobs and not is_wanted:
        raise ApiError(
            400, f"'top_logprobs' is {top_logprobs}, but log-probabilities are off; send {wanted_by} too",
            code="invalid_argument", param="top_logprobs",
        )  # fmt: skip
    return (top_logprobs or 0) if is_wanted else None

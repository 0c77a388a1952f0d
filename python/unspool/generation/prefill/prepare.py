"""From a prompt to the arguments of the decoding, through its lane."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from unspool.errors import ArgumentError, ChannelCancelledError, PrefillError
from unspool.generation.prefill.cache import make_cache, repeat_cache
from unspool.generation.prefill.cache_name import pop_cache
from unspool.generation.prefill.causal import APPLIED, NOT_LONGER, prefill_causal
from unspool.generation.prefill.continuation import cannot_continue, chunk_limit
from unspool.generation.prefill.forward import ONE_STEP
from unspool.generation.prefill.report import PrefillReport
from unspool.generation.prefill.strategy import model_kind

if TYPE_CHECKING:
    import torch

    from unspool.generation.prefill.config import PrefillConfig
    from unspool.generation.prefill.prepared import PreparedPrefill
    from unspool.generation.prefill.strategy import StrategyId
    from unspool.generation.prompt import Prompt
    from unspool.generation.prompt_encoder import PromptEncoder
    from unspool.generation.settings import GenerationSettings

__all__ = ["PreparedPrompt", "gather_ids", "prepare_prompt"]

EMBEDDED = "the prompt is given as inputs_embeds"
CONDITIONED = "a conditioning hook needs the whole input"
SEQ2SEQ: StrategyId = "transformers-generic-seq2seq-source"


@dataclass(frozen=True)
class PreparedPrompt:
    """A prompt for the decoding, with a row for each answer.

    Attributes:
        prompt_ids: The ids before the answer, of shape (1, n); n is 0 if only embeddings are known, or for a decoder
            after an encoder.
        token_count: The tokens of the whole prompt, or of the source.
        decode_prefix_tokens: How many of them the first forward of the decoding runs.
        generate_arguments: For `model.generate`.
        forward_arguments: For the first forward of our own loop; None if only `generate` can continue.
    """

    prompt_ids: torch.Tensor
    token_count: int
    decode_prefix_tokens: int
    scope: PrefillReport
    generate_arguments: dict[str, Any]
    forward_arguments: dict[str, Any] | None = None

    def refused(self, reason: str) -> PreparedPrompt:
        """The same prompt for a model that turned out not to support chunks."""
        scope = PrefillReport(
            self.scope.strategy_id, runtime_eligible=False, applied=False, activation_reason=reason
        )
        return replace(self, scope=scope, forward_arguments=None)


def prepare_prompt(
    model: Any,
    prompt: Prompt,
    encoder: PromptEncoder,
    settings: GenerationSettings,
    *,
    strategy: StrategyId | None,
    config: PrefillConfig,
    is_conditioned: bool,
    is_cancelled: Callable[[], bool],
) -> PreparedPrompt:
    """Encode a prompt and run the chunks of its lane. Runs in the worker.

    Raises:
        ArgumentError: The prompt and the call both have a cache.
        PrefillError: The prompt has no tokens.
        ChannelCancelledError: The consumer has left.
    """
    inputs = dict(prompt.inputs)
    cache = pop_cache(inputs)
    if cache is not None and settings.cache is not None:
        raise ArgumentError("the prompt and the call both have a cache; pass one of them")
    cache = settings.cache if cache is None else cache
    prompt = replace(prompt, inputs=inputs)
    if inputs.get("inputs_embeds") is not None:
        return _prepare_embeds(model, prompt, encoder, settings, strategy, cache)
    if strategy == SEQ2SEQ or (strategy is None and model_kind(model) == "seq2seq"):
        return _prepare_source(prompt, encoder, settings, strategy, config, is_cancelled, cache)
    only_ids = set(prompt.inputs) <= {"input_ids"} and prompt.messages is None
    prepared = prefill_causal(
        model,
        encoder.pieces(prompt, config.chunk_tokens) if only_ids else (),
        inputs=None if only_ids else encoder.whole(prompt),
        strategy=None if is_conditioned else strategy,
        config=config,
        cache=cache,
        generation_kwargs=settings.options,
        is_cancelled=is_cancelled,
        rows=settings.n,
    )
    scope = prepared.scope
    if is_conditioned:
        scope = PrefillReport(strategy, runtime_eligible=False, applied=False, activation_reason=CONDITIONED)
    return PreparedPrompt(
        prompt_ids=prepared.input_ids,
        token_count=prepared.prompt_token_count,
        decode_prefix_tokens=prepared.decode_prefix_tokens,
        scope=scope,
        generate_arguments=repeat_rows(prepared.generate_arguments(), settings.n),
        forward_arguments=_forward_arguments(model, prepared, settings),
    )


def _forward_arguments(
    model: Any, prepared: PreparedPrefill, settings: GenerationSettings
) -> dict[str, Any] | None:
    scope = prepared.scope
    has_static = bool(prepared.static_inputs)
    longest = chunk_limit(model)
    if longest is not None and prepared.prompt_token_count + (settings.limit or 0) > longest:
        return None  # `generate` starts again if the frequencies change
    if scope.strategy_id is None:
        if cannot_continue(model, settings.options, has_static_inputs=has_static):
            return None
    elif not scope.runtime_eligible:
        return None
    arguments = repeat_rows(prepared.forward_arguments(), settings.n)
    if arguments["cache"] is None:
        arguments["cache"] = make_cache(model)
    return arguments


def _prepare_embeds(
    model: Any,
    prompt: Prompt,
    encoder: PromptEncoder,
    settings: GenerationSettings,
    strategy: StrategyId | None,
    cache: Any,
) -> PreparedPrompt:
    """In one forward: embeddings cannot be cut safely. A cache is for `generate`, which knows what to run."""
    import torch

    inputs = encoder.whole(prompt)
    embeds = inputs["inputs_embeds"]
    ids = inputs.get("input_ids")
    inputs.setdefault("attention_mask", torch.ones(embeds.shape[:2], dtype=torch.long, device=embeds.device))
    repeated = repeat_rows(inputs, settings.n)
    forward = None
    if cache is None and cannot_continue(model, settings.options) is None:
        forward = {name: value for name, value in repeated.items() if name != "input_ids"}
        forward |= {
            "cache": make_cache(model),
            "cache_position": torch.arange(embeds.shape[1], device=embeds.device),
            **ONE_STEP,
        }
    return PreparedPrompt(
        prompt_ids=ids if ids is not None else torch.zeros((1, 0), dtype=torch.long),
        token_count=embeds.shape[1],
        decode_prefix_tokens=embeds.shape[1],
        scope=PrefillReport(strategy, runtime_eligible=False, applied=False, activation_reason=EMBEDDED),
        generate_arguments=_with_cache(repeated, cache, settings.n),
        forward_arguments=forward,
    )


def _prepare_source(
    prompt: Prompt,
    encoder: PromptEncoder,
    settings: GenerationSettings,
    strategy: StrategyId | None,
    config: PrefillConfig,
    is_cancelled: Callable[[], bool],
    cache: Any,
) -> PreparedPrompt:
    """An encoder needs its whole source, so only the tokenization is in pieces."""
    import torch

    inputs = dict(prompt.inputs)
    if prompt.messages is not None:
        inputs = encoder.whole(prompt)
    else:
        inputs["input_ids"] = gather_ids(encoder.pieces(prompt, config.chunk_tokens), is_cancelled)
    ids = inputs["input_ids"]
    count = ids.shape[1]
    if count == 0:
        raise PrefillError(f"{strategy or 'prefill'}: the prompt has no tokens; pass some text")
    inputs.setdefault("attention_mask", torch.ones_like(ids))
    applied = strategy is not None and count > config.chunk_tokens
    return PreparedPrompt(
        prompt_ids=torch.zeros((1, 0), dtype=torch.long),
        token_count=count,
        decode_prefix_tokens=0,
        scope=PrefillReport(
            strategy,
            runtime_eligible=strategy is not None,
            applied=applied,
            activation_reason=APPLIED if applied else NOT_LONGER,
        ),
        generate_arguments=_with_cache(repeat_rows(encoder.on_device(inputs), settings.n), cache, settings.n),
    )


def _with_cache(arguments: dict[str, Any], cache: Any, rows: int) -> dict[str, Any]:
    return arguments if cache is None else {**arguments, "cache": repeat_cache(cache, rows)}


def gather_ids(pieces: Iterable[list[int]], is_cancelled: Callable[[], bool]) -> torch.Tensor:
    """All pieces of a prompt, as a tensor of shape (1, n).

    Raises:
        ChannelCancelledError: The consumer has left.
    """
    import torch

    parts = []
    for piece in pieces:
        if is_cancelled():
            raise ChannelCancelledError("the consumer has left while the prompt was read")
        parts.append(torch.tensor([piece], dtype=torch.long))
    return torch.cat(parts, dim=1) if parts else torch.zeros((1, 0), dtype=torch.long)


def repeat_rows(arguments: Mapping[str, Any], rows: int) -> dict[str, Any]:
    """Repeat every tensor of one row; a cache already has all rows."""
    if rows == 1:
        return dict(arguments)
    return {
        name: value.repeat_interleave(rows, dim=0) if getattr(value, "ndim", 0) >= 2 else value
        for name, value in arguments.items()
    }

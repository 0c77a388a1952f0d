"""Prepares a prompt for the decoding, through its lane."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unspool.errors import ArgumentError, PrefillError
from unspool.generation.prefill.cache import repeat_cache
from unspool.generation.prefill.cache_name import pop_cache
from unspool.generation.prefill.causal import prefill_causal
from unspool.generation.prefill.continuation import cannot_continue, chunk_limit
from unspool.generation.prefill.prepared import PreparedPrompt
from unspool.generation.prefill.report import APPLIED, NOT_LONGER, PrefillReport
from unspool.generation.prefill.strategy import model_kind

if TYPE_CHECKING:
    from unspool.generation.prefill.strategy import PrefillConfig, StrategyId
    from unspool.generation.prompts.prompt import Prompt
    from unspool.generation.prompts.prompt_encoder import PromptEncoder
    from unspool.generation.settings import GenerationSettings

__all__ = ["prepare_prompt"]

EMBEDDED = "the prompt is given as inputs_embeds"
CONDITIONED = "a conditioning hook needs the whole input"


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
        ArgumentError: Both the prompt and the call have a cache.
        PrefillError: The prompt has no tokens.
        ChannelCancelledError: The consumer has left.
    """
    inputs = dict(prompt.inputs)
    cache = pop_cache(inputs)
    if cache is not None and settings.cache is not None:
        raise ArgumentError("the prompt and the call both have a cache; pass one of them")
    cache = settings.cache if cache is None else cache
    prompt = replace(prompt, inputs=inputs)
    if model_kind(model) == "seq2seq" or inputs.get("inputs_embeds") is not None:
        return _prepare_whole(model, encoder.whole(prompt, is_cancelled), settings, strategy, config, cache)
    only_ids = set(inputs) <= {"input_ids"} and prompt.messages is None
    prepared = prefill_causal(
        model,
        encoder.pieces(prompt, config.chunk_tokens) if only_ids else (),
        inputs=None if only_ids else encoder.whole(prompt, is_cancelled),
        strategy=None if is_conditioned else strategy,
        config=config,
        cache=cache,
        generation_kwargs=settings.options,
        is_cancelled=is_cancelled,
        rows=settings.n,
    )
    runs_natively = _runs_natively(model, prepared, settings)
    if not is_conditioned:
        return replace(prepared, runs_natively=runs_natively)
    scope = PrefillReport(strategy, runtime_eligible=False, applied=False, activation_reason=CONDITIONED)
    return replace(prepared, scope=scope, runs_natively=runs_natively)


def _runs_natively(model: Any, prepared: PreparedPrompt, settings: GenerationSettings) -> bool:
    longest = chunk_limit(model)
    if longest is not None and prepared.token_count + (settings.limit or 0) > longest:
        return False  # `generate` starts over if the frequencies change
    if prepared.scope.strategy_id is not None:
        return prepared.scope.runtime_eligible
    has_static = bool(prepared.static_inputs)
    return cannot_continue(model, settings.options, has_static_inputs=has_static) is None


def _prepare_whole(
    model: Any,
    inputs: dict[str, Any],
    settings: GenerationSettings,
    strategy: StrategyId | None,
    config: PrefillConfig,
    cache: Any,
) -> PreparedPrompt:
    """Prepare a prompt for one forward: embeddings cannot be cut safely, and an encoder needs its whole source.

    Only a source's tokenization is done in pieces. A cache is passed on to `generate`, which knows what to run.
    """
    import torch

    embeds = inputs.get("inputs_embeds")
    whole = inputs["input_ids"] if embeds is None else embeds
    count, ids = whole.shape[1], None
    if embeds is None:
        if count == 0:
            raise PrefillError(f"{strategy or 'prefill'}: the prompt has no tokens; pass some text")
        applied = strategy is not None and count > config.chunk_tokens
        scope = PrefillReport(strategy, strategy is not None, applied, APPLIED if applied else NOT_LONGER)
    else:
        scope = PrefillReport(strategy, False, False, EMBEDDED)
        ids = inputs.pop("input_ids", None)
    mask = inputs.pop("attention_mask", None)
    if mask is None:
        mask = torch.ones(whole.shape[:2], dtype=torch.long, device=whole.device)
    continues = embeds is not None and cache is None and cannot_continue(model, settings.options) is None
    return PreparedPrompt(
        token_count=count,
        prefilled=count if embeds is None else 0,
        input_ids=ids,
        attention_mask=mask,
        cache=repeat_cache(cache, settings.n),
        scope=scope,
        static_inputs=inputs,
        rows=settings.n,
        runs_natively=continues,
    )

"""Decides which models can run a prompt in chunks with the same result, and up to which length.

A model that is rejected here would not fail in chunks, but would write other tokens. Each rule states its reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from unspool.generation.prefill.cache import cache_problem, is_transformers_model, make_cache
from unspool.generation.prefill.forward import ForwardCaller

__all__ = ["cannot_continue", "chunk_limit", "generation_option", "wants_embedded_text"]

# Suffixes of model_type. In these models every token of the prompt attends to all tokens, also to later ones.
_PREFIX_MODELS = ("paligemma", "git", "pi0", "hrm_text", "diffusion_gemma")


def cannot_continue(
    model: Any,
    generation_kwargs: Mapping[str, Any],
    *,
    caller: ForwardCaller | None = None,
    has_static_inputs: bool = False,
) -> str | None:
    """Return why this model cannot run a prompt in chunks, or None.

    Args:
        model: Any object; a missing attribute counts as harmless.
        generation_kwargs: The options of `model.generate`, possibly with a `generation_config`.
        caller: The model's forward, if it is already inspected.
        has_static_inputs: Whether the prompt has images or sounds.
    """
    caller = caller or ForwardCaller(model)
    if caller.missing_reason is not None:
        return caller.missing_reason
    if generation_option(model, generation_kwargs, "use_cache") is False:
        return "use_cache is False"
    implementation = generation_option(model, generation_kwargs, "cache_implementation")
    if implementation is not None:
        return f"cache_implementation is {implementation!r}; generate makes that cache itself"
    for name in ("assistant_model", "prompt_lookup_num_tokens", "penalty_alpha"):
        # These methods start with their own forward, or skip it if there is a cache.
        if generation_option(model, generation_kwargs, name):
            return f"{name} is set; that way of decoding reads the prompt itself"
    if generation_kwargs.get("inputs_embeds") is not None:
        return "the prompt is given as inputs_embeds"
    return _model_problem(model, caller, has_static_inputs)


def _model_problem(model: Any, caller: ForwardCaller, has_static_inputs: bool) -> str | None:
    name = type(model).__name__
    if any(getattr(part, "_is_stateful", False) is True for part in _parts(model)):
        return f"{name} keeps a recurrent state, which takes one token at a time"
    # transformers' models name their arguments; a wrapper may accept them as **kwargs.
    names_it = caller.names is None or caller.cache_name in caller.names
    if caller.cache_name is None or (is_transformers_model(model) and not names_it):
        return f"{name}.forward takes no cache"
    for config in _configs(model):
        if str(getattr(config, "model_type", "")).endswith(_PREFIX_MODELS):
            return f"{name} lets all tokens of a prompt attend to each other"
        bidirectional = getattr(config, "use_bidirectional_attention", None)
        if bidirectional in (True, "all") or (bidirectional and has_static_inputs):
            return f"{name} attends in both directions"
        if getattr(config, "cross_attention_layers", None) and has_static_inputs:
            return f"{name} attends to its images from every token"
    if any(callable(getattr(part, "get_rope_index", None)) for part in _parts(model)):
        # Such a model also keeps an offset between requests, so prompts of text alone are not safe either.
        return f"{name} takes its positions from the whole prompt (get_rope_index)"
    cache = make_cache(model)
    return None if cache is None else cache_problem(cache)


def chunk_limit(model: Any) -> int | None:
    """Return the maximum length in tokens of a prompt that may run in chunks; None: no limit.

    Rotary frequencies of the types "longrope" and "dynamic" change with the length of the whole text.
    In one forward, a longer prompt has the later frequencies everywhere; in chunks its beginning would keep
    the earlier ones.
    """
    limits = []
    for config in _configs(model):
        maximum = getattr(config, "max_position_embeddings", None)
        for rope in _rope_settings(config):
            kind = rope.get("rope_type", rope.get("type"))
            if kind in ("longrope", "su"):
                original = getattr(config, "original_max_position_embeddings", None)
                limits.append(rope.get("original_max_position_embeddings") or original or maximum)
            elif isinstance(kind, str) and "dynamic" in kind:
                limits.append(maximum)
    return min((int(limit) for limit in limits if limit), default=None)


def wants_embedded_text(model: Any) -> bool:
    """Whether text without an image must be passed as embeddings, with one token left.

    Models like LLaVA before transformers 4.50 expand image tokens inside forward. They accept a single id of
    text, but not several.
    """
    return callable(getattr(model, "_merge_input_ids_with_image_features", None)) and callable(
        getattr(model, "get_input_embeddings", None)
    )


def generation_option(model: Any, generation_kwargs: Mapping[str, Any], name: str) -> Any:
    """Return an option as `generate` reads it: its argument, else the generation config."""
    if name in generation_kwargs:
        return generation_kwargs[name]
    config = generation_kwargs.get("generation_config") or getattr(model, "generation_config", None)
    return getattr(config, name, None)


def _parts(model: Any) -> list[Any]:
    """Return the model, and the models that it wraps under the usual names."""
    return _with_members(model, ("model", "base_model", "language_model", "thinker", "text_model"))


def _configs(model: Any) -> list[Any]:
    names = ("text_config", "thinker_config", "llm_config", "language_config")
    return _with_members(getattr(model, "config", None), names)


def _with_members(owner: Any, names: Sequence[str]) -> list[Any]:
    found = [owner, *(getattr(owner, name, None) for name in names)]
    return [part for part in found if part is not None]


def _rope_settings(config: Any) -> Iterator[Mapping[str, Any]]:
    for name in ("rope_scaling", "rope_parameters"):
        rope = getattr(config, name, None)
        if isinstance(rope, Mapping):
            yield from (rope, *(part for part in rope.values() if isinstance(part, Mapping)))  # by layer type

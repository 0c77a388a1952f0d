"""Keeps a prompt and its answer within the model's positions."""

from __future__ import annotations

from collections.abc import Callable

from unspool.errors import ContextLengthError
from unspool.generation.prompts.prompt import Prompt
from unspool.generation.prompts.prompt_encoder import PromptEncoder
from unspool.generation.settings import GenerationSettings

__all__ = ["fit_context"]


def fit_context(
    prompt: Prompt,
    settings: GenerationSettings,
    encoder: PromptEncoder,
    positions: int,
    is_cancelled: Callable[[], bool],
) -> tuple[Prompt, GenerationSettings]:
    """Tokenize the prompt once, and lower the limit to what fits. Runs in the worker.

    Args:
        positions: The model's positions, for the prompt and its answer together.

    Raises:
        ContextLengthError: The prompt is too long, or leaves no room for the limit of the call.
        ChannelCancelledError: The consumer has left.
    """
    inputs = encoder.whole(prompt, is_cancelled)
    embeds = inputs.get("inputs_embeds")
    count = int((inputs["input_ids"] if embeds is None else embeds).shape[1])
    limit = settings.limit
    asked = limit if limit is not None and settings.has_own_limit else 1
    if count + asked > positions:
        answer = f" before the {asked} of max_tokens" if asked > 1 else ""
        raise ContextLengthError(
            f"prompt is too long: the model's maximum context length is {positions} tokens, and the prompt has "
            f"{count}{answer}; shorten it, or ask for less"
        )
    if limit is not None and count + limit > positions:
        settings = settings.with_options(max_new_tokens=positions - count)
    elif limit is None and (settings.option("max_length") or 0) > positions:
        settings = settings.with_options(max_length=positions)
    return Prompt(inputs=inputs), settings

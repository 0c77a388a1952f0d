"""Finds the number of a model's positions, and fits a prompt with its answer into them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from unspool.errors import ContextLengthError
from unspool.generation.prompts.prompt import Prompt
from unspool.generation.prompts.prompt_encoder import PromptEncoder

if TYPE_CHECKING:
    from unspool.generation.settings import GenerationSettings

__all__ = ["POSITION_NAMES", "fit_context", "fit_limit", "model_positions"]

#: The names of the number of positions in transformers' configs.
POSITION_NAMES = (
    "max_position_embeddings", "n_positions", "max_sequence_length", "max_seq_len", "seq_length", "n_ctx",
)  # fmt: skip


def fit_context(
    prompt: Prompt,
    settings: GenerationSettings,
    encoder: PromptEncoder,
    positions: int,
    is_cancelled: Callable[[], bool],
) -> tuple[Prompt, GenerationSettings]:
    """Tokenize the prompt once, and lower the answer's limit to fit. Runs in the worker.

    Args:
        positions: The number of the model's positions, for the prompt and its answer together.

    Raises:
        ContextLengthError: The prompt is too long, or leaves no room for the limit of the call.
        ChannelCancelledError: The consumer has left.
    """
    inputs = encoder.whole(prompt, is_cancelled)
    embeds = inputs.get("inputs_embeds")
    count = int((inputs["input_ids"] if embeds is None else embeds).shape[1])
    limit = settings.limit
    fitting = fit_limit(count, positions, limit, settings.has_own_limit)
    if fitting != limit:
        settings = settings.with_options(max_new_tokens=fitting)
    elif limit is None and (settings.option("max_length") or 0) > positions:
        settings = settings.with_options(max_length=positions)
    return Prompt(inputs=inputs), settings


def fit_limit(count: int, positions: int, limit: int | None, is_own: bool) -> int | None:
    """Return the limit of an answer after a prompt of `count` tokens; None: `limit` is None.

    Args:
        positions: As in `fit_context`.
        is_own: Whether the limit is set by the call; then it is not lowered.

    Raises:
        ContextLengthError: As in `fit_context`.
    """
    asked = limit if limit is not None and is_own else 1
    if count + asked > positions:
        answer = f" before the {asked} of max_tokens" if asked > 1 else ""
        raise ContextLengthError(
            f"prompt is too long: the model's maximum context length is {positions} tokens, and the prompt has "
            f"{count}{answer}; shorten it, or ask for less"
        )
    return None if limit is None else min(limit, positions - count)


def model_positions(model: Any) -> tuple[int, str] | None:
    """Return the number of a model's positions, and its name in the config; None if the config does not have it.

    Searches the config of the model's text part first, if there is one, then `model.config`.
    """
    config = getattr(model, "config", None)
    for part in (_text_config(config), config):
        for name in POSITION_NAMES:
            limit = getattr(part, name, None)
            if isinstance(limit, int) and limit > 0:  # XLNet has -1 for "no limit"
                return limit, name
    return None


def _text_config(config: Any) -> Any:
    get_text_config = getattr(config, "get_text_config", None)
    if get_text_config is None:
        return getattr(config, "text_config", None)
    try:
        return get_text_config()
    except ValueError:  # transformers finds several and cannot choose
        return None

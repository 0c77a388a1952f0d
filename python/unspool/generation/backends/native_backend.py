"""unspool's own decoding loop: one forward for each token, whose deltas go directly into the channel.

If a grammar allows only one text, its tokens enter the same forward as drafts. Each id is still chosen from the scores
at its position, as without drafts, and the cache drops the drafts from the first one that is not chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from typing import Any

from unspool.generation.prefill.cache import can_crop, continuation_problem, make_cache
from unspool.generation.prefill.cache_name import output_cache
from unspool.generation.prefill.continuation import cannot_continue, chunk_limit
from unspool.generation.prefill.forward import LOGITS_TO_KEEP, ONE_STEP, ForwardCaller
from unspool.generation.prefill.prepared import PreparedPrompt
from unspool.generation.rows import Rows
from unspool.generation.settings import GenerationSettings
from unspool.generation.steps import Steps

__all__ = ["NotContinuable", "generate_natively"]


class NotContinuable(Exception):
    """Raised before any id is emitted if the model's cache cannot be extended. The message has the reason."""


def generate_natively(
    model: Any,
    prepared: PreparedPrompt,
    rows: Rows,
    settings: GenerationSettings,
    is_cancelled: Callable[[], bool],
) -> None:
    """Generate to the end: run the rest of the prompt, then one token in each step.

    Raises:
        NotContinuable: Only `model.generate` can run this model.
        ChannelCancelledError: The consumer has left.
    """
    import torch

    forward = ForwardCaller(model)
    arguments = prepared.forward_arguments()
    if arguments["cache"] is None:
        arguments["cache"] = make_cache(model)
    output = forward(**arguments)
    logits, cache, length = output.logits[:, -1:], output_cache(output), prepared.token_count
    problem = continuation_problem(cache, length)
    if problem is not None:
        raise NotContinuable(problem)
    count, device = logits.shape[0], logits.device
    steps = Steps(prepared, rows, settings, is_cancelled, device)
    can_draft = (
        can_crop(cache) and cannot_continue(model, settings.options) is None and chunk_limit(model) is None
    )
    drafts: list[int] = []
    at = 0  # index of the logits to choose from next; their id is compared with drafts[at]
    mask = torch.ones((count, length + min(steps.limit, 1024)), dtype=torch.long, device=device)
    while True:
        next_ids = steps.take(logits[:, at])
        if steps.is_over:
            return
        length += 1
        if drafts[at : at + 1] == next_ids.tolist():
            at += 1
            continue
        if at < len(drafts):
            cache.crop(at - len(drafts))
        forced = settings.forced()[: steps.limit - steps.count - 1] if can_draft else []
        drafts = list(takewhile(range(logits.shape[-1]).__contains__, forced))
        end = length + len(drafts)
        if end > mask.shape[1]:
            mask = mask.new_ones((count, 2 * end))
        output = forward(
            input_ids=torch.cat([next_ids[:, None], next_ids.new_tensor([drafts] * count)], dim=1),
            attention_mask=mask[:, :end],
            cache=cache,
            cache_position=torch.arange(length - 1, end, device=device),
            **(ONE_STEP | dict.fromkeys(LOGITS_TO_KEEP, 1 + len(drafts))),
        )
        logits, cache, at = output.logits[:, -1 - len(drafts) :], output_cache(output), 0

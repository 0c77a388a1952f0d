"""Prompts on their way into a model: in pieces while they are tokenized, in chunks while they run."""

from unspool.generation.prefill.config import PrefillConfig
from unspool.generation.prefill.pieces import iter_prompt_token_pieces
from unspool.generation.prefill.scope import PrefillGap, PrefillScope, gap_inventory
from unspool.generation.prefill.strategy import StrategyId, select_strategy

__all__ = [
    "PrefillConfig",
    "PrefillGap",
    "PrefillScope",
    "StrategyId",
    "gap_inventory",
    "iter_prompt_token_pieces",
    "select_strategy",
]

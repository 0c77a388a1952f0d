"""Runs prompts through a model in chunks while they are tokenized."""

from unspool.generation.prefill.report import PrefillReport
from unspool.generation.prefill.strategy import PrefillConfig, StrategyId

__all__ = ["PrefillConfig", "PrefillReport", "StrategyId"]

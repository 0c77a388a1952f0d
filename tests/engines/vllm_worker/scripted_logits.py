"""Makes vLLM's engine write the ids that a request gives, in `vllm_xargs={"script": [...]}`."""

# ruff: noqa: ARG002 - the host calls these methods with all that it has
from __future__ import annotations

from typing import Any

import torch
from vllm.v1.sample.logits_processor import BatchUpdate, LogitsProcessor
from vllm.v1.sample.logits_processor.builtin import process_dict_updates

WEIGHT = 1e4  # beats the model's own logits; a grammar's mask, minus infinity, beats it


class Script:
    """The ids of one answer, and how far the model has written them."""

    def __init__(self, ids: list[int], end: int, written: int) -> None:
        self._ids = ids
        self._end = end
        self._next = written

    def write(self, logits: torch.Tensor) -> None:
        """Raise the next id; if a grammar forbids it, the next one that it allows. After the script, the turn's end."""
        for place in range(self._next, len(self._ids)):
            if logits[self._ids[place]] != -float("inf"):
                logits[self._ids[place]] += WEIGHT
                self._next = place + 1
                return
        if self._next >= len(self._ids):
            logits[self._end] += WEIGHT


class ScriptedLogits(LogitsProcessor):
    """For `--logits-processors`."""

    def __init__(self, vllm_config: Any, device: torch.device, is_pin_memory: bool) -> None:
        self._end = vllm_config.model_config.hf_config.eos_token_id
        self._scripts: dict[int, Script] = {}

    def is_argmax_invariant(self) -> bool:
        return False

    def update_state(self, batch_update: BatchUpdate | None) -> None:
        process_dict_updates(self._scripts, batch_update, self._find)

    def _find(self, params: Any, prompt: Any, output: list[int]) -> Script | None:
        ids = (params.extra_args or {}).get("script")
        return None if ids is None else Script(ids, self._end, len(output))

    def apply(self, logits: torch.Tensor) -> torch.Tensor:
        for row, script in self._scripts.items():
            script.write(logits[row])
        return logits

"""Makes vLLM's engine write a script with speculative decoding, where it refuses custom logits processors."""

from __future__ import annotations

from typing import Any

from scripted_logits import Script
from vllm.v1.worker.gpu_model_runner import GPUModelRunner


class ScriptedDrafts:
    """For `--worker-extension-cls`: what counts is that the module is imported."""


_sample = GPUModelRunner._sample


def _scripted_sample(self: Any, logits: Any, spec_decode_metadata: Any) -> Any:
    """Each request has a row for each draft token and one more; grammars are not looked at."""
    row = 0
    requests = self.input_batch.req_ids
    drafts = spec_decode_metadata.num_draft_tokens if spec_decode_metadata else [0] * len(requests)
    for request, count in zip(requests, drafts, strict=True):
        state = self.requests[request]
        ids = (state.sampling_params.extra_args or {}).get("script")
        if ids is not None:
            script = Script(ids, self.model_config.hf_config.eos_token_id, len(state.output_token_ids))
            for place in range(row, row + count + 1):
                script.write(logits[place])
        row += count + 1
    return _sample(self, logits, spec_decode_metadata)


GPUModelRunner._sample = _scripted_sample

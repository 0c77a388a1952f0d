"""Steps 64 constrained requests together: masks, choice, bytes. The logits are random; put your model's in their place."""

from __future__ import annotations

import torch
import unspool

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {
                "type": "object",
                "properties": {"city": {"enum": ["Paris", "Oslo"]}, "days": {"type": "integer"}},
                "required": ["city"],
            },
        },
    }
]


def main(requests: int = 64) -> list[unspool.ToolCall]:
    """Run all requests to their ends, and return their calls."""
    generator = torch.Generator().manual_seed(0)
    added = [(256, "<|im_end|>", "<|im_end|>", True)]
    vocabulary = unspool.Vocabulary({bytes([n]): n for n in range(256)}, added, is_bytes=True)
    grammar = unspool.get_format("hermes").grammar(TOOLS, tool_choice="required", tokenizer=vocabulary)
    compiled = unspool.GrammarMatcher(grammar, vocabulary, end_ids=[256])
    batch = unspool.StreamBatch(vocabulary, "hermes", threads=2)
    running = [batch.add(TOOLS, grammar=compiled) for _ in range(requests)]
    bitmask = torch.empty((requests, (len(vocabulary) + 31) // 32), dtype=torch.int32)
    bits = torch.arange(32, dtype=torch.int32)
    calls = []
    while running:
        batch.masks(running, bitmask)
        allowed = (bitmask[: len(running), :, None] >> bits & 1).flatten(1)[:, : len(vocabulary)].bool()
        logits = torch.randn(allowed.shape, generator=generator)
        logits[:, 256] += 5  # a model ends, too
        ids = logits.masked_fill(~allowed, float("-inf")).softmax(-1).multinomial(1, generator=generator)
        for slot in list(batch.step(running, ids[:, 0]).ended):
            batch.finish(slot)
            calls += batch.message(slot).tool_calls
            batch.remove(slot)
            running.remove(slot)
    return calls


if __name__ == "__main__":
    for call in main():
        print(call.name, call.arguments)

"""A chat with tools over transformers: deltas as they arrive, then the whole message; several chats in one
batch.

Run: python examples/transformers/weather.py MODEL [PROMPT ...]

MODEL is a name or a folder. Several prompts go through continuous batching (transformers 5).
"""

from __future__ import annotations

import sys
from typing import Any

from unspool.integrations.transformers import ContinuousBatching, TextGeneration, pipeline

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
            },
        },
    }
]


def one(pipe: TextGeneration, prompt: str) -> None:
    """Print the deltas of one answer."""
    with pipe(chat(prompt), tools=TOOLS, stream=True, max_new_tokens=200) as deltas:
        for delta in deltas:
            print(delta.to_openai())
    print(deltas.message.to_openai(), deltas.message.finish_reason)


def several(pipe: TextGeneration, prompts: list[str]) -> None:
    """All prompts together, in one batch; print each answer."""
    with pipe.model.continuous_batching_context_manager() as manager:
        batching = ContinuousBatching(manager, pipe.tokenizer)
        streams = [batching.stream(chat(prompt), tools=TOOLS, max_new_tokens=200) for prompt in prompts]
        for prompt, stream in zip(prompts, streams, strict=True):
            count = sum(1 for _ in stream)
            print(prompt, "→", count, "deltas:", stream.message.to_openai())


def chat(prompt: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": prompt}]


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    made = pipeline("text-generation", model=sys.argv[1])
    questions = sys.argv[2:] or ["What is the weather in Paris?"]
    if len(questions) == 1:
        one(made, questions[0])
    else:
        several(made, questions)

"""A prompt, an answer and what follows it."""

from __future__ import annotations

import json
from typing import Any

import unspool
from tokenizers import Tokenizer

from .templates import MODELS, OFFERED, USER, render, tokenizer_of


class Turn:
    """A prompt, an answer in the template's own words, and what follows it."""

    def __init__(
        self, name: str, following: str, reasoning: str = "", tokenizer: Tokenizer | None = None
    ) -> None:
        self.name, model, self.tokenizer = name, MODELS[name], tokenizer or tokenizer_of(name)
        lines = model.calls.split("\n<tool_call>")
        count = {"user": 0, "one result": 1}.get(following, 2)
        self.text = reasoning + "I see." + "".join("\n<tool_call>" + line for line in lines[1 : 1 + count])
        self.end = model.ends["tool" if count else "user"]
        self.prompt = self.tokenizer.encode(render(name, [USER])).ids
        self.answer = self.tokenizer.encode(self.text + self.end).ids
        self.message = self.read(self.answer)
        self.next = following_messages(self.message, is_reversed=following == "reordered")

    def read(self, ids: list[int]) -> unspool.Message:
        format = MODELS[self.name].format
        return unspool.parse(ids, format, OFFERED, tokenizer=self.tokenizer, prompt=self.prompt)

    def bridge(self, answer: list[int] | None = None, **options: Any) -> unspool.Bridge:
        ids = self.prompt + (self.answer if answer is None else answer)
        options = {"message": self.message, "messages": [USER], "next": self.next, **options}
        following = options.pop("next")
        return unspool.bridge(
            ids, following, format=MODELS[self.name].format, tokenizer=self.tokenizer,
            template=MODELS[self.name].template, prompt_length=len(self.prompt), tools=OFFERED, **options,
        )  # fmt: skip

    def decode(self, ids: list[int] | None) -> str:
        assert ids is not None
        return str(self.tokenizer.decode(ids, skip_special_tokens=False))

    def conversation(self) -> list[dict[str, Any]]:
        given = self.message.to_openai()
        for call in given.get("tool_calls", ()):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
        return [USER, given, *self.next]


def following_messages(message: unspool.Message, *, is_reversed: bool = False) -> list[dict[str, Any]]:
    results = [
        {"role": "tool", "tool_call_id": call.id, "content": f"of {call.name}"} for call in message.tool_calls
    ]
    return results[:: -1 if is_reversed else 1] or [{"role": "user", "content": "And in Rome?"}]

"""A random model writes a custom tool's text under its grammar, and it is read back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .helpers import BACKENDS

pytest.importorskip("llguidance", reason="needs unspool[constrain]")

from unspool import ArgumentError, StreamGenerator

from ..writing.grammar.test_custom_tools import PATCH_TEXT, lark, regex

PROMPT = "Mend the file."


@pytest.mark.parametrize("name", ["hermes", "llama3_json", "pythonic", "qwen3_coder", "glm45", "minimax_m2"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_patch_is_written_and_read_back(llama: Any, byte_tokenizer: Any, name: str, backend: Any) -> None:
    model = StreamGenerator(llama, byte_tokenizer, format=name, backend=backend)
    liked = byte_tokenizer.convert_tokens_to_ids(["Ċ", "\\", "n", ">"])

    def ends_lines(_: Any, scores: Any) -> Any:
        scores[:, liked] += 6
        return scores

    complete = 0
    for seed in range(8):
        result = model.generate(
            PROMPT, tools=[lark()], tool_choice="required", max_new_tokens=700, start_in="content",
            sampling={"temperature": 1.0, "seed": seed}, parallel_tool_calls=False, logits_processor=[ends_lines],
        )  # fmt: skip
        if result.choices[0].finish_reason == "length":
            continue
        (call,) = result.choices[0].message.tool_calls
        assert call.is_complete
        complete += 1
        assert PATCH_TEXT.fullmatch(json.loads(call.arguments)["input"])
        if complete == 2:
            return
    assert complete, "every answer was cut off"


def test_auto_constrains_the_text(llama: Any, byte_tokenizer: Any) -> None:
    model = StreamGenerator(llama, byte_tokenizer, format="hermes")
    with pytest.raises(ArgumentError, match="looks ahead"):
        model.stream(PROMPT, tools=[regex("(?=a)")])

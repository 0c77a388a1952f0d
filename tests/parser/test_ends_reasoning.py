"""Whether a text that no parser has read ends its reasoning: `Format.ends_reasoning`."""

from __future__ import annotations

import pytest
import unspool
from unspool.core.format.compile_format import compile_format

TURN = "<|im_start|>assistant\n"


@pytest.mark.parametrize(
    ("text", "is_over"),
    [
        ("", False),
        (TURN, False),
        (TURN + "<think>\n", False),
        (TURN + "<think>\n\n</think>\n\n", True),
        (TURN + "<think>a</think>Zürich", True),
        ("a</think>b", True),
        (TURN + "<think>a</think>b<|im_end|>" + TURN, False),
        (TURN + "<think>a</think><think>b", False),
        (TURN + 'hm<tool_call>\n{"name": "f"', False),
    ],
)
def test_the_last_turns_tags_decide(text: str, is_over: bool) -> None:
    assert compile_format("qwen3").ends_reasoning(text) == is_over


def test_a_call_ends_reasoning_where_the_format_says_so() -> None:
    format = compile_format("glm45")
    called = "<|user|>Hi<|assistant|><think>hm<tool_call>f"
    assert format.ends_reasoning(called)
    assert not format.ends_reasoning(called + "</tool_call><|observation|>1<|assistant|><think>")
    assert not compile_format("mistral").ends_reasoning("[INST]Hi[/INST][THINK]hm[TOOL_CALLS]f[ARGS]{}")


def test_only_what_stands_after_the_text_before_counts() -> None:
    """Exactly one cut of the stream says that reasoning ends here: the one that completes the tag."""
    format, text = compile_format("qwen3"), "Zürich</think>Zürich"
    found = [
        end for end in range(1, len(text) + 1) if format.ends_reasoning(text[end - 1 : end], text[: end - 1])
    ]
    assert found == [text.index(">") + 1]


def test_a_format_without_reasoning_never_does() -> None:
    assert not compile_format("hermes", reasoning=False).ends_reasoning("<think>a</think>b")
    template = {"start_anchor": "<|im_start|>assistant\n", "fields": {"content": {"close": "<|im_end|>"}}}
    assert not unspool.Format.from_response_template(template).ends_reasoning("</think>")

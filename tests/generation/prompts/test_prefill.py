"""Prompts that begin the answer: the template writes it without its end, and the parser reads the rest."""

from __future__ import annotations

from typing import Any

import pytest
import unspool
from unspool import ArgumentError
from unspool.generation.prompts.chat_template import render_messages

from ..bridging.templates import JSON_CALLS, MODELS, OFFERED
from .test_history import TEMPLATES, USER, Templated

pytest.importorskip("jinja2")
CONTENT, REASONING = "It is <b>18</b>.\n\nIn Zürich.", "Hm, I look\nit up."


def prompt_of(name: str, prefill: bool | str = True, *messages: dict[str, Any]) -> str:
    text, is_template = render_messages(Templated(name), [USER, *messages], tools=OFFERED, prefill=prefill)
    assert is_template
    return text


@pytest.mark.parametrize("name", MODELS)
def test_content_at_every_letter(name: str) -> None:
    for place in range(1, len(CONTENT)):
        begun = {"role": "assistant", "content": CONTENT[:place]}
        prompt = prompt_of(name, True, begun)
        assert prompt.endswith(CONTENT[:place])
        message = unspool.parse(CONTENT[place:], MODELS[name].format, OFFERED, prompt=prompt)
        assert (message.content, message.reasoning) == (CONTENT[place:], ""), place


def test_reasoning_at_every_letter() -> None:
    for name in ("mindful", "forgetful"):
        for place in range(1, len(REASONING)):
            begun = {"role": "assistant", "content": "", "reasoning": REASONING[:place]}
            prompt = prompt_of(name, True, begun)
            assert prompt.endswith(f"<think>\n{REASONING[:place]}")
            rest = REASONING[place:] + "\n</think>\n\n" + CONTENT + JSON_CALLS
            message = unspool.parse(rest, "qwen3", OFFERED, prompt=prompt)
            assert (message.reasoning, message.content) == (REASONING[place:], CONTENT), place
            assert [call.status for call in message.tool_calls] == ["complete", "complete"]


def test_content_after_reasoning() -> None:
    begun = {"role": "assistant", "content": "It", "reasoning_content": REASONING}
    prompt = prompt_of("mindful", True, begun)
    assert prompt.endswith(f"<think>\n{REASONING}\n</think>\n\nIt")
    assert unspool.parse(" is.", "qwen3", prompt=prompt).content == " is."


@pytest.mark.parametrize("name", [*TEMPLATES])
def test_every_template(name: str) -> None:
    begun = {"role": "assistant", "content": [{"type": "text", "text": "It is "}]}
    whole = Templated(name).apply_chat_template(
        [USER, {"role": "assistant", "content": "It is "}], tools=OFFERED
    )
    prompt = prompt_of(name, True, begun)
    assert prompt.endswith("It is ")
    assert whole.startswith(prompt)
    assert prompt_of(name, "<b>") == prompt_of(name, False) + "<b>"


def test_a_template_that_opens_the_reasoning() -> None:
    """DeepSeek R1's prompt opens the reasoning, and its history has none."""
    template = (
        "{% for m in messages %}<｜{{ m.role.title() }}｜>{{ m.content }}{% endfor %}"
        "{% if add_generation_prompt %}<｜Assistant｜><think>\n{% endif %}"
    )
    tokenizer = Templated("grouped")
    tokenizer.chat_template = template
    begun = [USER, {"role": "assistant", "content": "It"}]
    prompt = render_messages(tokenizer, begun, prefill=True).text
    assert prompt == "<｜User｜>What is new?<｜Assistant｜>It"
    assert unspool.parse(" is.", "deepseek_r1", prompt=prompt).content == " is."
    prompt = render_messages(tokenizer, [USER], prefill="Hm").text
    message = unspool.parse(", so.</think>Yes.", "deepseek_r1", prompt=prompt)
    assert (message.reasoning, message.content) == (", so.", "Yes.")


def test_without_a_template() -> None:
    begun = [USER, {"role": "assistant", "content": "It is"}]
    assert render_messages(None, begun, prefill=True) == ("USER: What is new?\nASSISTANT: It is", False)
    assert render_messages(None, [USER], prefill=" It") == ("USER: What is new?\nASSISTANT: It", False)


@pytest.mark.parametrize(
    "last",
    [
        USER,
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": [{"type": "image"}]},
        {"role": "assistant", "content": "x", "tool_calls": [{"function": {"name": "f"}}]},
    ],
)
def test_what_cannot_be_continued(last: Any) -> None:
    with pytest.raises(ArgumentError, match="prefill=True continues the last message"):
        prompt_of("grouped", True, last)


def test_what_the_template_leaves_out() -> None:
    with pytest.raises(ArgumentError, match="leaves out the message"):
        prompt_of("grouped", True, {"role": "assistant", "content": "", "reasoning_content": "Hm"})

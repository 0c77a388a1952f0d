"""The methods of `renderers`' protocol: masks of what a model samples, and what it wrote."""

from __future__ import annotations

from typing import Any

import pytest
import unspool
from unspool.integrations.renderer_protocol import FormatRenderer
from unspool.testing.marker_tokenizer import marker_tokenizer

TOKENIZER = marker_tokenizer(unspool.get_format("qwen3"))
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]
CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Paris"}}\n</tool_call>'
USER = {"role": "user", "content": "Go."}


def ids_of(text: str) -> list[int]:
    return list(TOKENIZER.encode(text, add_special_tokens=False).ids)


def template(messages: Any, _: Any, opens: bool) -> list[int]:
    texts = [f"<|im_start|>{message['role']}\n{message['content']}<|im_end|>\n" for message in messages]
    return ids_of("".join(texts) + ("<|im_start|>assistant\n" if opens else ""))


@pytest.fixture(scope="module")
def renderer() -> FormatRenderer:
    return FormatRenderer("qwen3", TOKENIZER, template)


def test_the_mask_is_what_the_model_samples(renderer: FormatRenderer) -> None:
    answers = ["Hi.", f"I look.\n{CALL}"]
    messages = [USER, {"role": "assistant", "content": answers[0]}]
    messages += [USER, {"role": "assistant", "content": answers[1]}]
    made = renderer.render(messages, tools=TOOLS, add_generation_prompt=True)
    assert made.token_ids == renderer.render_ids(messages, tools=TOOLS, add_generation_prompt=True)
    assert len(made.sampled_mask) == len(made.message_indices) == len(made.token_ids)
    for number, answer in ((1, answers[0]), (3, answers[1])):
        own = [id for id, owner in zip(made.token_ids, made.message_indices, strict=True) if owner == number]
        assert own == ids_of(f"{answer}<|im_end|>")
    sampled = [owner >= 0 for owner in made.message_indices]
    assert made.sampled_mask == sampled
    assert made.message_roles == ["user", "assistant", "user", "assistant"]


def test_an_answer_that_is_not_behind_its_prompt_has_no_mask() -> None:
    def other(messages: Any, tools: Any, opens: bool) -> list[int]:
        return template(messages, tools, opens) + (ids_of("<think>\n") if opens else [])

    made = FormatRenderer("qwen3", TOKENIZER, other).render([USER, {"role": "assistant", "content": "Hi."}])
    assert not any(made.sampled_mask)


def test_an_answer_without_an_end_has_no_mask() -> None:
    def endless(messages: Any, _: Any, opens: bool) -> list[int]:
        return ids_of("".join(f"<|im_start|>{one['role']}\n{one['content']}" for one in messages)) + (
            ids_of("<|im_start|>assistant\n") if opens else []
        )

    made = FormatRenderer("qwen3", TOKENIZER, endless).render([USER, {"role": "assistant", "content": "Hi."}])
    assert not any(made.sampled_mask)
    assert set(made.message_indices) == {-1}


def test_a_response_is_read(renderer: FormatRenderer) -> None:
    ids = ids_of(f"<think>\nHm.\n</think>\n\nI look.\n{CALL}<|im_end|>")
    read = renderer.parse_response(ids, tools=TOOLS, prompt_ids=ids_of("<|im_start|>assistant\n"))
    assert (read.reasoning_content, read.content, read.reasoning_complete) == ("Hm.", "I look.", True)
    (call,) = read.tool_calls
    assert (call.name, call.arguments, call.status) == ("weather", {"city": "Paris"}, "ok")
    assert ids[slice(*call.token_span)] == ids_of(call.raw)
    assert call.raw.strip() == CALL


def test_the_prompt_opens_the_reasoning(renderer: FormatRenderer) -> None:
    prompt = ids_of("<|im_start|>assistant\n<think>\n")
    read = renderer.parse_response(ids_of("Hm."), prompt_ids=prompt)
    assert (read.reasoning_content, read.content, read.reasoning_complete) == ("Hm.", "", False)
    read = renderer.parse_response(ids_of("Hm."), prompt_ids=[])
    assert (read.reasoning_content, read.content, read.reasoning_complete) == (None, "Hm.", True)


@pytest.mark.parametrize(
    ("text", "tools", "status"),
    [
        (CALL, [{"name": "search"}], "unknown_tool"),
        (CALL, None, "ok"),
        (CALL[:50], None, "unclosed_block"),
        (CALL.replace('"Paris"', "NaN"), None, "malformed_structure"),
    ],
)
def test_the_status_of_a_call(renderer: FormatRenderer, text: str, tools: Any, status: str) -> None:
    (call,) = renderer.parse_response(ids_of(text), tools=tools).tool_calls
    assert call.status == status
    assert isinstance(call.arguments, dict) == (status in ("ok", "unknown_tool"))


def test_stops_and_bridges(renderer: FormatRenderer) -> None:
    assert renderer.get_stop_token_ids() == [
        *map(
            TOKENIZER.token_to_id,
            [
                "<|im_end|>",
                "<|endoftext|>",
            ],
        )
    ]
    assert renderer.bridge_to_next_turn(ids_of("a"), ids_of("b"), [USER]) is None  # there is no chat template
    assert not renderer.is_prefix_stable


CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def test_the_next_turn_begins_with_what_was_sampled() -> None:
    renderer = FormatRenderer("qwen3", TOKENIZER, template, CHAT_TEMPLATE)
    prompt, answer = template([USER], None, True), ids_of("Hi.<|im_end|>")
    made = renderer.bridge_to_next_turn(prompt, answer, [USER])
    assert made is not None
    assert made.token_ids == [*prompt, *answer, *ids_of("\n"), *template([USER], None, True)]
    assert made.message_roles == ["user"]
    assert not any(made.sampled_mask)


def test_the_tokenizers_own_template() -> None:
    class Own:
        def __init__(self) -> None:
            self._tokenizer = TOKENIZER

        def __getattr__(self, name: str) -> Any:
            return getattr(TOKENIZER, name)

        def apply_chat_template(self, messages: Any, **options: Any) -> list[int]:
            assert options["tokenize"]
            assert not options["return_dict"]
            return template(messages, options["tools"], options["add_generation_prompt"])

    made = FormatRenderer("qwen3", Own()).render_ids([USER], add_generation_prompt=True)
    assert made == template([USER], None, True)


def test_renderers_takes_it(renderer: FormatRenderer) -> None:
    base: Any = pytest.importorskip("renderers.base")
    assert isinstance(renderer, base.Renderer)
    messages = [USER, {"role": "assistant", "content": "Hi."}]
    sample = base.build_training_sample(renderer, messages)
    assert sample.loss_mask == renderer.render(messages).sampled_mask
    assert sum(sample.loss_mask) == len(ids_of("Hi.<|im_end|>"))

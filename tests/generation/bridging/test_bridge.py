"""What a bridge says of texts that differ, of answers that it refuses, and of arguments that it cannot take."""

from __future__ import annotations

import json
from typing import Any

import pytest
import unspool
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from unspool.errors import ArgumentError, LearnError

from .templates import MODELS, OFFERED, USER, render, tokenizer_of
from .turn import Turn

pytest.importorskip("jinja2")
THOUGHT = "<think>\nHm.\n</think>\n\n"


def merging_tokenizer() -> Tokenizer:
    """A byte-level BPE with merges, trained on what the template writes."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(
        [render("grouped", [USER]) + "I see." + MODELS["grouped"].calls] * 4, trainer
    )
    tokenizer.add_tokens(["<tool_call>", "</tool_call>"])
    tokenizer.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    return tokenizer


def test_merges() -> None:
    turn = Turn("grouped", "two results", tokenizer=merging_tokenizer())
    bridge = turn.bridge()
    assert bridge.is_exact
    assert bridge.ids == turn.tokenizer.encode(render("grouped", turn.conversation())).ids


def test_ids_that_no_tokenizer_would_give_are_kept() -> None:
    turn = Turn("grouped", "two results", tokenizer=merging_tokenizer())
    content = turn.text.partition("<tool_call>")[0]
    letters = [one for letter in content for one in turn.tokenizer.encode(letter).ids]
    canonical = turn.tokenizer.encode(content).ids
    assert letters != canonical
    answer = letters + turn.answer[len(canonical) :]
    bridge = turn.bridge(answer)
    assert bridge.is_exact
    assert bridge.ids is not None
    assert bridge.ids[: bridge.kept] == turn.prompt + answer


@pytest.mark.parametrize(
    ("name", "answer", "kind"),
    [
        ("forgetful", THOUGHT + "Fine.<|im_end|>", "reasoning dropped"),
        ("forgetful", "<think>\n\n</think>\n\nFine.<|im_end|>", "reasoning dropped"),
        ("mindful", "<think>\nHm.</think>\n\nFine.<|im_end|>", "white space"),
        ("returning", "Fine.<|endoftext|>", "end of turn"),
        (
            "grouped",
            '\n<tool_call>\n{"name": "news", "arguments": {"days":3}}\n</tool_call><|im_end|>',
            "arguments re-serialised",
        ),
        ("grouped", '\n<tool_call>\n{"name": "news", "arguments": {"da', "unfinished call"),
    ],
)
def test_kinds_of_differences(name: str, answer: str, kind: str) -> None:
    turn = Turn(name, "user")
    ids = turn.tokenizer.encode(answer).ids
    kept = turn.bridge(ids, message=None)
    assert (kept.is_exact, kept.kind) == (False, kind)
    assert kept.reason
    assert turn.decode(kept.ids).endswith("And in Rome?<|im_end|>\n<|im_start|>assistant\n")
    refused = turn.bridge(ids, message=None, history="template")
    assert (refused.ids, refused.mask, refused.kind, refused.reason) == (None, [], kind, kept.reason)
    unchecked = turn.bridge(ids, message=None, check=False)
    assert (unchecked.ids, unchecked.is_exact, unchecked.kind) == (kept.ids, None, None)


def test_the_token_that_returns_stands_for_the_turns_end() -> None:
    turn = Turn("returning", "user")
    bridge = turn.bridge(turn.tokenizer.encode("Fine.<|endoftext|>").ids)
    assert "Fine.<|endoftext|>\n<|im_start|>user" in turn.decode(bridge.ids)


def test_a_prompt_of_another_conversation() -> None:
    turn = Turn("grouped", "user")
    bridge = turn.bridge(messages=[{"role": "user", "content": "Something else."}])
    assert (bridge.is_exact, bridge.kind) == (False, "history rewritten")
    assert bridge.reason == (
        "the ids go on with 'What is new in Paris?<|im_end|>\\n<|im_sta', "
        "the template with 'Something else.<|im_end|>\\n<|im_start|>as'"
    )


def test_a_prompt_that_ends_otherwise() -> None:
    turn = Turn("mindful", "user")
    turn.prompt += turn.tokenizer.encode("<think>\n").ids
    bridge = turn.bridge(turn.tokenizer.encode("Hm.\n</think>\n\nFine.<|im_end|>").ids, messages=None)
    assert (bridge.is_exact, bridge.kind) == (False, "generation prompt")


def test_a_stop_inside_reasoning_is_refused() -> None:
    turn = Turn("mindful", "user")
    bridge = turn.bridge(turn.tokenizer.encode("<think>\nHm.<|im_end|>").ids)
    assert (bridge.ids, bridge.kind) == (None, "stopped in reasoning")
    assert bridge.reason == "the answer ends with '<|im_end|>' inside its reasoning"


def test_a_cut_answer_may_be_refused() -> None:
    turn = Turn("grouped", "user")
    bridge = turn.bridge(turn.answer[:-1], on_cut="refuse")
    assert (bridge.ids, bridge.kind) == (None, "cut off")
    assert bridge.reason == "the answer has no end token; it is cut off in its content"


@pytest.mark.parametrize(
    "text", ["a <|im_end|> b", "<tool_call></tool_call>", "<|im_start|><|im_start|>system"]
)
def test_a_spelled_marker_stays_text(text: str) -> None:
    turn = Turn("grouped", "one result")
    turn.next = [{"role": "tool", "tool_call_id": turn.message.tool_calls[0].id, "content": text}]
    bridge = turn.bridge()
    assert (bridge.is_exact, bridge.kind) == (True, "spelled marker")
    assert bridge.ids is not None
    added = bridge.ids[bridge.kept :]
    assert f"<tool_response>\n{text}\n</tool_response>" in turn.decode(added)
    plain = turn.bridge(next=[{**turn.next[0], "content": "plain"}])
    assert plain.ids is not None
    markers = set(turn.tokenizer.get_added_tokens_decoder())
    assert [id for id in added if id in markers] == [id for id in plain.ids[plain.kept :] if id in markers]


def test_a_template_that_refuses_the_next_messages() -> None:
    turn = Turn("grouped", "user")
    template = MODELS["grouped"].template.replace(
        "{% for m in messages %}",
        "{% for m in messages %}{% if m.role == 'critic' %}{{ raise_exception('no critics') }}{% endif %}",
    )
    bridge = unspool.bridge(
        turn.prompt + turn.answer, [{"role": "critic", "content": "Bad."}], format="hermes",
        tokenizer=turn.tokenizer, template=template, prompt_length=len(turn.prompt),
    )  # fmt: skip
    assert (bridge.ids, bridge.kind) == (None, "template")
    assert bridge.reason == "the template does not render the next messages: TemplateError: no critics"


def test_a_template_that_never_ends() -> None:
    turn = Turn("grouped", "user")
    template = "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}{% endfor %}"
    with pytest.raises(LearnError, match=r"longer than 1 s|needs too much"):
        unspool.bridge(
            turn.prompt + turn.answer, turn.next, format="hermes", tokenizer=turn.tokenizer,
            template=template, prompt_length=len(turn.prompt), timeout=1.0,
        )  # fmt: skip


def test_results_name_calls_by_the_ids_that_were_sent() -> None:
    turn = Turn("grouped", "two results")
    with pytest.raises(ArgumentError, match="none of the answer's calls; pass message="):
        turn.bridge(message=None)
    one = Turn("grouped", "one result")
    assert one.bridge(message=None) == one.bridge()
    with pytest.raises(ArgumentError, match="other calls than the ids"):
        one.bridge(message=turn.message)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"next": []}, "next_messages is empty"),
        ({"next": [{"role": "assistant", "content": "x"}]}, "only what follows the answer"),
        ({"next": [{"role": "user", "content": {1, 2}}]}, "cannot be written as JSON"),
        ({"history": "drop"}, "history is 'drop'; use 'keep' or 'template'"),
        ({"on_cut": "open"}, "on_cut is 'open'; use 'close' or 'refuse'"),
        ({"history": "template", "check": False}, "leave check=True"),
        ({"timeout": 0}, "timeout is 0"),
        ({"variables": {"now": object()}}, "tools and variables cannot be written as JSON"),
    ],
)
def test_bad_arguments(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        Turn("grouped", "user").bridge(**options)


def test_bad_tokenizers_and_lengths() -> None:
    turn, template = Turn("grouped", "user"), MODELS["grouped"].template
    vocabulary = unspool.Vocabulary.from_tokenizer(turn.tokenizer)
    given: dict[str, Any] = {"format": "hermes", "template": template}
    with pytest.raises(ArgumentError, match="a Vocabulary does not encode text; pass encode="):
        unspool.bridge(turn.answer, turn.next, tokenizer=vocabulary, prompt_length=0, **given)
    with pytest.raises(ArgumentError, match="prompt_length is 999"):
        unspool.bridge(turn.answer, turn.next, tokenizer=turn.tokenizer, prompt_length=999, **given)
    with pytest.raises(ArgumentError, match="has no chat template"):
        unspool.bridge(turn.answer, turn.next, format="hermes", tokenizer=turn.tokenizer, prompt_length=0)


def test_a_vocabulary_with_an_encoder_and_a_tokenizer_with_its_template() -> None:
    transformers = pytest.importorskip("transformers")
    turn, template = Turn("grouped", "two results"), MODELS["grouped"].template
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer_of("grouped"))
    tokenizer.chat_template = template
    given: dict[str, Any] = {
        "format": "hermes", "prompt_length": len(turn.prompt), "message": turn.message, "tools": OFFERED,
    }  # fmt: skip
    ids = turn.prompt + turn.answer
    one = unspool.bridge(ids, turn.next, tokenizer=tokenizer, **given)
    other = unspool.bridge(
        ids, turn.next, tokenizer=unspool.Vocabulary.from_tokenizer(tokenizer), template=template,
        encode=lambda text: turn.tokenizer.encode(text).ids, **given,
    )  # fmt: skip
    assert one == other
    whole = tokenizer.apply_chat_template(
        json.loads(json.dumps(turn.conversation())),
        tools=OFFERED,
        add_generation_prompt=True,
        return_dict=False,
    )
    assert one.ids == whole


ROLES = """{% for m in messages %}{% if m.role == 'assistant' %}<｜Assistant｜></think>{{ m.content }}<｜end▁of▁sentence｜>{% else %}<｜User｜>{{ m.content }}{% endif %}{% endfor %}{% if add_generation_prompt %}<｜Assistant｜></think>{% endif %}"""


@pytest.mark.parametrize("cut", range(5))
def test_a_real_tokenizer(cut: int, deepseek: Any) -> None:
    prompt = list(deepseek.encode("<｜User｜>Wie geht's, 世界?<｜Assistant｜></think>"))
    answer = list(deepseek.encode("Gut, danke.<｜end▁of▁sentence｜>"))
    answer = answer[: len(answer) - cut]
    bridge = unspool.bridge(
        prompt + answer, [{"role": "user", "content": " Und  <｜User｜>?"}], format="deepseek_v31",
        tokenizer=deepseek.vocabulary, encode=deepseek.encode, template=ROLES, prompt_length=len(prompt),
        messages=[{"role": "user", "content": "Wie geht's, 世界?"}],
    )  # fmt: skip
    users = deepseek.encode("<｜User｜>")
    assert (bridge.is_exact, bridge.kind) == (True, "spelled marker")
    assert bridge.ids is not None
    assert bridge.ids[: bridge.kept] == prompt + answer
    assert bridge.ids.count(users[0]) == 2
    assert list(bridge.closed) == (list(deepseek.encode("<｜end▁of▁sentence｜>")) if cut else [])

"""A grammar keeps what a model writes to it, on both backends, beside everything else that a stream does."""

from __future__ import annotations

import inspect
import json
import random
import re
from typing import Any

import pytest
import transformers

pytest.importorskip("llguidance", reason="needs unspool[constrain]")

import unspool
from unspool import ArgumentError, GrammarMatcher, StreamGenerator

from ..tiny_models import make_llama
from .helpers import BACKENDS

PROMPT = "What is the weather?"
NUMBER = "start: /[0-9]{3}/\n"
SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"enum": ["Paris", "Oslo"]},
        "days": {"type": "integer", "minimum": 1, "maximum": 99},
    },
    "required": ["city", "days"],
    "additionalProperties": False,
    "x-guidance": {"whitespace_pattern": " ?"},
}
OBJECT = f"start: %json {json.dumps(SCHEMA)}\n"


@pytest.fixture(params=BACKENDS)
def generator(request: pytest.FixtureRequest, llama: Any, byte_tokenizer: Any) -> StreamGenerator:
    return StreamGenerator(llama, byte_tokenizer, format="hermes", backend=request.param)


@pytest.mark.parametrize("sampling", [{}, {"temperature": 1.5, "seed": 3}], ids=["greedy", "drawn"])
def test_the_answer_keeps_to_the_grammar_and_ends_with_it(generator: Any, sampling: dict[str, Any]) -> None:
    result = generator.generate(PROMPT, grammar=NUMBER, max_new_tokens=50, sampling=sampling)
    choice = result.choices[0]
    assert re.fullmatch("[0-9]{3}", choice.message.content)
    assert choice.finish_reason == "stop"
    assert len(choice.token_ids) == 3, "no token is spent on the end"


def test_each_answer_has_its_own_place(generator: Any) -> None:
    sampling = {"temperature": 2.0, "n": 6, "seed": 1}
    result = generator.generate(
        PROMPT, grammar="start: /a+/ | /[0-9]{3}/\n", max_new_tokens=12, sampling=sampling
    )
    contents = [choice.message.content for choice in result.choices]
    assert len(set(contents)) > 1
    assert all(re.fullmatch("a+|[0-9]{3}", content) for content in contents), contents


@pytest.mark.parametrize("eos", ["<eos>", "1"])
@pytest.mark.parametrize("prompt", ["1a2b1a2b3c1a2b" * 3, "xyz", "12"])
@pytest.mark.parametrize(
    "grammar",
    [
        "start: (/[0-9]/ /[a-c]/)+\n",
        "start: /[0-9]{3}/\n",
        'start: "1a2b1a2b" /[a-c]{5}/ "xyz" /[a-z]+/\n',
        'start: a "x"\na[max_tokens=7]: /[a-c1-3]+/\n',
    ],
)
def test_drafts_write_what_is_written_without_them(
    llama: Any, byte_tokenizer: Any, grammar: str, prompt: str, eos: str
) -> None:
    generator = StreamGenerator(llama, byte_tokenizer, format="hermes")
    other = make_llama(byte_tokenizer, seed=3)
    ends = byte_tokenizer.convert_tokens_to_ids(eos)
    options = {"grammar": grammar, "max_new_tokens": 25, "eos_token_id": ends}
    without = generator.generate(prompt, **options).choices[0]
    for drafts in (
        {"prompt_lookup_num_tokens": 4},
        {"prompt_lookup_num_tokens": 10},
        {"assistant_model": make_llama(byte_tokenizer)},  # of its own: older transformers change its config
        {"assistant_model": other},
        {"assistant_early_exit": 1},
    ):
        if transformers.__version__ < "5":
            with pytest.raises(
                (ArgumentError, TypeError), match=r"or use transformers 5|no option .assistant_early_exit"
            ):
                generator.generate(prompt, **options, **drafts)
            continue
        found = generator.generate(prompt, **options, **drafts).choices[0]
        assert (found.token_ids, found.finish_reason) == (without.token_ids, without.finish_reason), drafts


@pytest.mark.parametrize("sampling", [{}, {"temperature": 1.5, "seed": 3}], ids=["greedy", "drawn"])
@pytest.mark.parametrize(
    ("grammar", "most_steps"),
    [
        ('start: "hello, world" /[0-9]{3}/ "and more text" /[a-z]/\n', 6),
        ('start: ("<|im_start|>ab" | "<|im_start|>ac") /[0-9]/ "x"\n', 14),
        ("start: /[0-9]{9}/\n", 9),
    ],
)
def test_text_that_must_follow_takes_no_step_of_its_own(
    byte_tokenizer: Any, grammar: str, most_steps: int, sampling: dict[str, Any]
) -> None:
    llama = make_llama(byte_tokenizer)
    forward, steps = llama.forward, list[int]()

    def counted(**arguments: Any) -> Any:
        steps.append(arguments["input_ids"].shape[1])
        return forward(**arguments)

    counted.__signature__ = inspect.signature(forward)  # type: ignore[attr-defined]
    llama.forward = counted
    generator = StreamGenerator(llama, byte_tokenizer, format="none", backend="native")
    options: dict[str, Any] = {"grammar": grammar, "max_new_tokens": 60, "sampling": sampling, "logprobs": 2}
    found = generator.generate(PROMPT, **options).choices[0]
    assert len(steps) <= most_steps
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GrammarMatcher, "forced", lambda _: [])
        one_by_one = generator.generate(PROMPT, **options).choices[0]
    assert found.token_ids == one_by_one.token_ids
    assert (found.message.content, found.finish_reason) == (one_by_one.message.content, "stop")
    for ours, theirs in zip(found.logprobs or (), one_by_one.logprobs or (), strict=True):
        assert ours.logprob == pytest.approx(theirs.logprob, abs=1e-4)


def test_a_draft_that_the_model_does_not_choose_is_dropped(llama: Any, byte_tokenizer: Any) -> None:
    generator = StreamGenerator(llama, byte_tokenizer, format="none", backend="native")
    options: dict[str, Any] = {"grammar": "start: /[a-z0-9]{40}/\n", "max_new_tokens": 50}
    expected = generator.generate(PROMPT, **options).choices[0]
    rng = random.Random(1)
    kept = list[int]()

    def drafts(matcher: Any) -> list[int]:
        right = expected.token_ids[matcher._taken :][: rng.randrange(4)]
        kept.append(len(right))
        return [*right, *(rng.choice(b"abc019") for _ in range(rng.randrange(4)))]

    for _ in range(5):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(GrammarMatcher, "forced", drafts)
            assert generator.generate(PROMPT, **options).choices[0].token_ids == expected.token_ids
    assert max(kept) == 3


def test_a_schema_is_kept_to(generator: Any) -> None:
    for seed in range(5):
        result = generator.generate(
            PROMPT, grammar=OBJECT, max_new_tokens=80, sampling={"temperature": 1.0, "seed": seed}
        )
        value = json.loads(result.choices[0].message.content)
        assert value["city"] in ("Paris", "Oslo")
        assert 1 <= value["days"] <= 99


def test_tokens_by_number_become_a_call(generator: Any, byte_tokenizer: Any) -> None:
    opener, closer = (byte_tokenizer.convert_tokens_to_ids(text) for text in ("<tool_call>", "</tool_call>"))
    call = {"type": "object", "properties": {"name": {"const": "f"}, "arguments": {"const": {}}}}
    call |= {"required": ["name", "arguments"], "additionalProperties": False}
    call["x-guidance"] = {"whitespace_flexible": False}
    grammar = f"start: <[{opener}]> call <[{closer}]>\ncall: %json {json.dumps(call)}\n"
    result = generator.generate(PROMPT, grammar=grammar, tools=[{"name": "f"}], max_new_tokens=80)
    (made,) = result.choices[0].message.tool_calls
    assert (made.name, made.arguments, made.status) == ("f", "{}", "complete")


TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"enum": ["Paris", "Oslo"]},
                    "days": {"type": "integer", "minimum": 1, "maximum": 9},
                },
                "required": ["city", "days"],
            },
        },
    }
]


@pytest.mark.parametrize("name", ["hermes", "qwen3_coder", "pythonic", "deepseek_v32"])
def test_the_grammar_of_a_format_makes_calls(name: str, byte_tokenizer: Any, generator: Any) -> None:
    grammar = unspool.get_format(name).grammar(
        TOOLS, tool_choice="required", parallel=False, reasoning=False, tokenizer=byte_tokenizer
    )
    model = generator.with_format(name)
    for seed in range(3):
        sampling = {"temperature": 1.0, "seed": seed}
        result = model.generate(
            PROMPT, tools=TOOLS, grammar=grammar, max_new_tokens=600, sampling=sampling, start_in="content"
        )
        message = result.choices[0].message
        (call,) = message.tool_calls
        assert (call.name, call.status, message.content) == ("get_weather", "complete", "")
        value = json.loads(call.arguments)
        assert value["city"] in ("Paris", "Oslo")
        assert 1 <= value["days"] <= 9


def test_a_json_grammar_makes_an_answer(generator: Any) -> None:
    schema = TOOLS[0]["function"]["parameters"]
    result = generator.generate(PROMPT, grammar=unspool.json_grammar(schema), max_new_tokens=200)
    assert json.loads(result.choices[0].message.content)["city"] in ("Paris", "Oslo")


def test_another_syntax_is_refused(generator: Any) -> None:
    grammar = unspool.json_grammar({"type": "integer"}, syntax="gbnf")
    with pytest.raises(ArgumentError, match="syntax='lark'"):
        generator.stream(PROMPT, grammar=grammar)


def test_text_may_end_where_the_grammar_may(generator: Any, byte_tokenizer: Any) -> None:
    def wants_the_end(_: Any, scores: Any) -> Any:
        scores[:, byte_tokenizer.eos_token_id] += 1000
        return scores

    result = generator.generate(
        PROMPT, grammar="start: /[0-9]{2,9}/\n", max_new_tokens=20, logits_processor=[wants_the_end]
    )
    assert re.fullmatch("[0-9]{2}", result.choices[0].message.content)
    assert result.choices[0].finish_reason == "stop"


def test_no_other_processor_undoes_it(generator: Any) -> None:
    def wants_a_letter(_: Any, scores: Any) -> Any:
        return scores.fill_(-1e9).index_fill_(1, scores.new_tensor([64]).long(), 1e9)

    result = generator.generate(PROMPT, grammar=NUMBER, max_new_tokens=9, logits_processor=[wants_a_letter])
    assert re.fullmatch("[0-9]{3}", result.choices[0].message.content)


def test_a_cut_answer_is_a_beginning(generator: Any) -> None:
    choice = generator.generate(PROMPT, grammar=NUMBER, max_new_tokens=2).choices[0]
    assert re.fullmatch("[0-9]{2}", choice.message.content)
    assert choice.finish_reason == "length"


@pytest.mark.parametrize("grammar", ["", "start: missing\n", "no grammar", "start: /(/\n"])
def test_a_bad_grammar_is_refused_at_the_call(generator: Any, grammar: str) -> None:
    with pytest.raises(ArgumentError, match="the grammar cannot be read"):
        generator.stream(PROMPT, grammar=grammar)

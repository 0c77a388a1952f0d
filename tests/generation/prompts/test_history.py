"""A conversation in the form that a chat template reads, whatever form it comes in."""

from __future__ import annotations

import copy
import functools
import json
from typing import Any

import pytest
import unspool
from hypothesis import given
from hypothesis import strategies as st
from unspool.generation.prompts import history
from unspool.generation.prompts.history import REASONING_FIELDS, prepare_messages

from ...learning.templates import CALLS, LIST, REASONING, TOOLS, template_of
from ...learning.test_package_templates import MISTRAL, mistral_template
from ..bridging.templates import MODELS, OFFERED

jinja2 = pytest.importorskip("jinja2")
USER = {"role": "user", "content": "What is new?"}
NAMED = "{{ '\\n' }}<use>{{ f.name }}"
ANSWER = (
    "{% for m in messages %}<|at|>{{ m.role }}\n{% if m.role == 'assistant' %}{{ m.content }}{% if m.tool_calls %}CALLS"
    "{% endif %}{% else %}{{ m.content }}{% endif %}<|over|>\n{% endfor %}"
)


def with_calls(text: str) -> str:
    return TOOLS + ANSWER.replace("CALLS", LIST + text + "{% endfor %}")


TEMPLATES = {
    **{f"{calls}, {thought}": template_of(calls, thought) for calls in CALLS for thought in REASONING},
    **{name: model.template for name, model in MODELS.items()},
    # DeepSeek V3 joins the arguments as text, others print them.
    "joined text": with_calls(NAMED + "{{ '```json\\n' + f.arguments + '\\n```' }}"),
    "printed text": with_calls(NAMED + "<with>{{ f.arguments }}</use>"),
    "items": with_calls(
        NAMED + "{% for k, v in f.arguments | items %}<k>{{ k }}</k>{{ v | tojson }}{% endfor %}</use>"
    ),
    # Kimi K2 writes the name as a part of the id alone.
    "names in ids": with_calls("<|use|>{{ c.id }}<|with|>{{ f.arguments | tojson }}<|/use|>"),
    # gpt-oss has one text before a call.
    "exclusive": TOOLS
    + ANSWER.replace("{{ m.content }}{% if m.tool_calls %}CALLS", "{% if m.tool_calls %}CALLS").replace(
        "CALLS",
        "{% if m.content and m.thinking %}{{ raise_exception('not both') }}{% endif %}{{ m.content or m.thinking }}"
        + LIST
        + "<use>{{ f.name }}{{ f.arguments | tojson }}</use>{% endfor %}{% else %}{{ m.content }}",
    ),
}
MISTRALS = {f"mistral {' '.join(key)}": key for key in MISTRAL}


class Templated:
    """A tokenizer as far as a chat template goes."""

    def __init__(self, name: str) -> None:
        self.chat_template = TEMPLATES[name] if name in TEMPLATES else mistral_template(*MISTRALS[name])

    def apply_chat_template(self, messages: Any, tokenize: bool = False, **variables: Any) -> str:
        assert not tokenize
        variables.setdefault("add_generation_prompt", False)
        return str(compiled(self.chat_template).render(messages=messages, eos_token="</s>", **variables))


def refuse(message: str) -> None:
    raise jinja2.TemplateError(message)


@functools.cache
def compiled(template: str) -> Any:
    sandbox = pytest.importorskip("jinja2.sandbox").ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    sandbox.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    sandbox.globals["raise_exception"] = refuse
    return sandbox.from_string(template)


def message_of(content: str, reasoning: str, arguments: list[dict[str, Any]], id: str) -> unspool.Message:
    calls = [
        unspool.ToolCall(
            id.format(at), ("weather", "news")[at % 2], json.dumps(one, ensure_ascii=False), "complete"
        )
        for at, one in enumerate(arguments)
    ]
    return unspool.Message(content, reasoning, tuple(calls), "tool_calls")


def conversation(message: unspool.Message, form: int = 0) -> list[dict[str, Any]]:
    """The same one in many forms, as clients and hosts send it."""
    answer = message.to_openai()
    user: dict[str, Any] = dict(USER)
    if form & 1:
        for call in answer.get("tool_calls", ()):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    if form & 2:
        answer["content"] = [{"type": "text", "text": answer["content"] or ""}]
        user["content"] = [{"type": "text", "text": "What is "}, {"type": "input_text", "text": "new?"}]
    if form & 4 and message.reasoning:
        answer["reasoning"] = answer.pop("reasoning_content")
    if form & 8:
        answer["content"] = answer["content"] or ""
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": "18"} for call in answer.get("tool_calls", ())
    ]
    return [user, answer, *results]


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8).map(lambda text: text.strip())
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
messages = st.builds(
    message_of,
    texts,
    texts,
    st.lists(st.dictionaries(st.sampled_from(["city", "days"]), values, max_size=2), max_size=2),
    st.sampled_from(["call-{}_id", "abcdefgh{}", "functions.weather:{}"]),
)


@pytest.mark.parametrize("name", [*TEMPLATES, *MISTRALS])
@given(message=messages, form=st.integers(1, 15))
def test_every_form_is_written_alike(name: str, message: unspool.Message, form: int) -> None:
    tokenizer = Templated(name)
    own, other = conversation(message), conversation(message, form)
    given = copy.deepcopy(other)
    prepared = prepare_messages(other, tokenizer)
    assert other == given
    assert prepare_messages(prepared, tokenizer) == prepared
    assert render(tokenizer, prepared) == render(tokenizer, prepare_messages(own, tokenizer))


def render(tokenizer: Templated, prepared: list[dict[str, Any]]) -> str:
    try:
        return tokenizer.apply_chat_template(prepared, tools=OFFERED)
    except jinja2.TemplateError as error:
        return f"refused: {error}"


@pytest.mark.parametrize("name", [*TEMPLATES, *MISTRALS])
def test_an_answer_of_ours_is_written(name: str) -> None:
    # Mistral's older templates reject content beside calls, and the oldest several results.
    content, length = (
        ("", 3 if "v2" in name else 4) if name in ("mistral v2 ", "mistral v3 ") else ("Looking.", 4)
    )
    message = message_of(content, "Hm.", [{"city": "Paris"}, {"days": 3}], "call-{}_id")
    tokenizer = Templated(name)
    text = render(tokenizer, prepare_messages(conversation(message)[:length], tokenizer))
    assert "refused" not in text
    text = render(tokenizer, prepare_messages(conversation(message)[:2], tokenizer))
    assert content in text
    for word in ("weather", "news", "Paris"):
        assert text.count(word) == 1 + render(tokenizer, [USER]).count(word), word
    assert '\\"' not in text
    assert "{'" not in text


@pytest.mark.parametrize("name", MODELS)
def test_an_answer_of_ours_is_read_again(name: str) -> None:
    message = message_of("Looking.", "", [{"city": 'Par"is'}, {"days": 3}], "call{:05}")
    tokenizer = Templated(name)
    written = render(tokenizer, prepare_messages(conversation(message)[:2], tokenizer))
    answer = written.partition(render(tokenizer, [USER]))[2]
    read = unspool.parse(
        answer.partition("assistant")[2][3 * name.startswith(("end", "las")) :], MODELS[name].format, OFFERED
    )
    assert [(call.name, json.loads(call.arguments), call.status) for call in read.tool_calls] == [
        (call.name, json.loads(call.arguments), "complete") for call in message.tool_calls
    ]


def test_the_form_of_each_template() -> None:
    form = history.find_form(history._Template(Templated("names in ids")), {"tools": OFFERED})
    assert form.shape.ids == "functions"
    prepared = prepare_messages(
        conversation(message_of("", "", [{}, {}], "call-{}_id")), Templated("names in ids")
    )
    ids = ["functions.weather:0", "functions.news:1"]
    assert [call["id"] for call in prepared[1]["tool_calls"]] == ids
    assert [result["tool_call_id"] for result in prepared[2:]] == ids
    message = message_of("Looking.", "Hm.", [{"city": "Paris"}], "call-{}_id")
    (_, answer, _) = prepare_messages(conversation(message), Templated("exclusive"))
    assert not answer.keys() & {*REASONING_FIELDS}
    (_, answer, _) = prepare_messages(conversation(message), Templated("joined text"))
    assert answer["tool_calls"][0]["function"]["arguments"] == '{"city": "Paris"}'
    for version, id in (("v3", "call00000"), ("v11", "call00000"), ("v13", "call-0_id")):
        (_, answer, result) = prepare_messages(conversation(message), Templated(f"mistral {version} "))
        assert answer["tool_calls"][0]["id"] == result["tool_call_id"] == id


def test_without_a_template() -> None:
    message = message_of("", "Hm.", [{"city": "Paris"}], "{}")
    (user, answer, result) = prepare_messages(conversation(message, 6))
    assert user == {"role": "user", "content": "What is new?"}
    call = {"id": "0", "type": "function", "function": {"name": "weather", "arguments": {"city": "Paris"}}}
    assert answer == {"role": "assistant", "content": "", "reasoning_content": "Hm.", "tool_calls": [call]}
    assert result == {"role": "tool", "tool_call_id": "0", "content": "18", "name": "weather"}


def test_ids_that_are_missing() -> None:
    calls = [{"function": {"name": "now", "arguments": text}} for text in (None, "{}", "[1]", '{"a": ')]
    made = prepare_messages(
        [{"role": "assistant", "tool_calls": calls}, *({"role": "tool", "content": "x"} for _ in "123")]
    )
    assert [call["id"] for call in made[0]["tool_calls"]] == [f"call0000{n}" for n in range(4)]
    assert [result["tool_call_id"] for result in made[1:]] == ["call00000", "call00001", "call00002"]
    given = [call["function"]["arguments"] for call in made[0]["tool_calls"]]
    assert given == [{}, {}, "[1]", '{"a": ']
    assert prepare_messages([{"role": "tool", "content": None}]) == [{"role": "tool", "content": ""}]


@pytest.mark.parametrize(
    "text", ["[" * 10**5, '{"a": ' * 500 + "1" + "}" * 500, '{"a": ' + "9" * 5000 + "}", '{"a": NaN}']
)
def test_arguments_that_no_template_can_write_stay_text(text: str) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "now", "arguments": text}}
    (made,) = prepare_messages([{"role": "assistant", "content": "", "tool_calls": [call]}])
    assert made["tool_calls"][0] == call


def test_media_and_calls_of_another_form_stay() -> None:
    picture = {"role": "user", "content": [{"type": "image", "image": 1}, {"type": "text", "text": "What?"}]}
    odd = {"role": "assistant", "content": "", "tool_calls": [{"name": "now", "arguments": "{}"}]}
    assert prepare_messages([picture, odd]) == [picture, odd]


class OnlyParts:
    """As a processor whose template reads parts alone."""

    def apply_chat_template(self, messages: Any, **_: Any) -> str:
        return "".join(part["text"] for message in messages for part in message["content"])


def test_parts_stay_for_a_template_that_reads_them_alone() -> None:
    message = {"role": "user", "content": [{"type": "text", "text": "What?"}]}
    assert prepare_messages([message], OnlyParts()) == [message]
    assert prepare_messages([message], Templated("grouped")) == [{"role": "user", "content": "What?"}]


def test_a_template_is_tried_once() -> None:
    tokenizer = Templated("grouped")
    tokenizer.chat_template += "{# counted #}"
    render, count = tokenizer.apply_chat_template, 0

    def counted(*given: Any, **options: Any) -> str:
        nonlocal count
        count += 1
        return render(*given, **options)

    tokenizer.apply_chat_template = counted  # type: ignore[method-assign]
    prepare_messages([USER], tokenizer)
    assert count == 0
    for _ in range(3):
        prepare_messages(conversation(message_of("", "", [{}], "{}")), tokenizer)
    assert 0 < count < 40

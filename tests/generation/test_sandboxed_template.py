"""A chat template that is not trusted: the same text as transformers renders, and nothing that it can hold on to."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest
from unspool import StreamGenerator
from unspool.errors import ArgumentError

pytest.importorskip("jinja2")
pytest.importorskip("transformers")

from unspool.generation.prompts.sandboxed_template import SandboxedTemplate

from ..tiny_models import make_byte_tokenizer, make_llama

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the limits are POSIX's")

TEMPLATE = (
    "{{ bos_token }}{%- if tools %}{{ tools | tojson(indent=2) }}{% endif %}{% for m in messages %}[{{ m.role }}] "
    "{% if m.content is string %}{{ m.content }}{% else %}{% for part in m.content %}{{ part.text }}{% endfor %}{% endif %}\n"
    "{% generation %}{% if loop.last %}!{% endif %}{% endgeneration %}{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}{{ thinking }}{{ strftime_now('%Y') }}"
    "{% if messages | length > 3 %}{{ raise_exception('too many: <' ~ messages | length ~ '>') }}{% endif %}"
)
MESSAGES = [
    {"role": "system", "content": "Grüße <|im_end|> \N{SNOWMAN}"},
    {"role": "user", "content": "1 < 2 & 3 > 2"},
]
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return make_byte_tokenizer(chat_template=TEMPLATE)


@pytest.fixture
def template(tokenizer: Any) -> Any:
    made = SandboxedTemplate(tokenizer, 20)
    yield made
    made.close()


@pytest.mark.parametrize("options", [{}, {"tools": TOOLS}, {"add_generation_prompt": True, "thinking": True}])
def test_the_same_text_as_transformers(tokenizer: Any, template: Any, options: dict[str, Any]) -> None:
    for _ in range(2):
        shown = template.apply_chat_template(MESSAGES, tokenize=False, **options)
        assert shown == tokenizer.apply_chat_template(MESSAGES, tokenize=False, **options)


def test_templates_by_name() -> None:
    other = make_byte_tokenizer(chat_template={"default": "plain", "tool_use": "with tools"})
    template = SandboxedTemplate(other, 20)
    assert template.apply_chat_template(MESSAGES) == "plain"
    assert template.apply_chat_template(MESSAGES, tools=TOOLS) == "with tools"
    template.close()


def test_what_a_template_refuses(template: Any) -> None:
    import jinja2

    with pytest.raises(jinja2.TemplateError, match=r"^too many: <4>$"):
        template.apply_chat_template(MESSAGES * 2)
    assert template.apply_chat_template(MESSAGES)


def test_a_template_that_fails(template: Any) -> None:
    with pytest.raises(RuntimeError, match="UndefinedError"):
        template.apply_chat_template(MESSAGES, chat_template="{{ missing.value }}")
    with pytest.raises(ArgumentError, match="Jinja cannot parse it"):
        template.apply_chat_template(MESSAGES, chat_template="{% if %}")
    with pytest.raises(ArgumentError, match="is not JSON"):
        template.apply_chat_template(MESSAGES, thinking=object())


@pytest.mark.parametrize(
    "hostile",
    [
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{{ 'a' * 2000000000 }}",
        "{{ messages.__class__.__mro__ }}{{ 9 ** (9 ** 9) }}",
    ],
)
def test_limits(tokenizer: Any, hostile: str) -> None:
    template = SandboxedTemplate(tokenizer, 1)
    with pytest.raises(ArgumentError, match=r"took longer|too much memory"):
        template.apply_chat_template(MESSAGES, chat_template=hostile)
    assert template.apply_chat_template(MESSAGES), "the next rendering has a process of its own"
    template.close()


def test_each_rendering_has_its_time(tokenizer: Any) -> None:
    slow = "{% for a in range(300) %}{% for b in range(300) %}{% endfor %}{% endfor %}x"
    template = SandboxedTemplate(tokenizer, 1)
    for _ in range(200):  # some seconds of CPU in one process
        assert template.apply_chat_template(MESSAGES, chat_template=slow) == "x"
    template.close()


def test_no_process_is_left(tokenizer: Any) -> None:
    template = SandboxedTemplate(tokenizer, 20)
    template.apply_chat_template(MESSAGES)
    (idle,) = template._idle.values()
    child = idle[0].process_id
    del template, idle
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_many_threads(template: Any) -> None:
    wanted = template.apply_chat_template(MESSAGES)
    results: list[str] = []

    def run() -> None:
        results.extend(template.apply_chat_template(MESSAGES) for _ in range(20))

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [wanted] * 120
    assert sum(map(len, template._idle.values())) <= 4


def test_a_generator_with_a_renderer(tokenizer: Any) -> None:
    template = SandboxedTemplate(tokenizer, 20)
    model = make_llama(tokenizer)
    trusted = StreamGenerator(model, tokenizer, format="hermes")
    limited = StreamGenerator(model, tokenizer, format="hermes", renderer=template)
    assert limited.tokenize(MESSAGES, tools=TOOLS) == trusted.tokenize(MESSAGES, tools=TOOLS)
    assert limited.with_format("qwen3").tokenize(MESSAGES) == trusted.tokenize(MESSAGES)
    template.close()

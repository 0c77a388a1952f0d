"""Chat templates of our own, one for each way to end a turn, and what a model writes for them."""

from __future__ import annotations

import functools
import json
import re
from typing import Any, NamedTuple

import unspool
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer
from unspool.testing.marker_tokenizer import END, MarkerTokenizer

CALLS = r"""{% for c in m.tool_calls or [] %}{{ '\n' }}<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{% endfor %}"""
TOOLS = "{% if tools %}<|im_start|>system\n{{ tools | tojson }}<|im_end|>\n{% endif %}"

#: A newline stands behind the end token; the results of a group are one turn.
GROUPED = (
    TOOLS
    + r"""{% for m in messages %}{% if m.role == 'tool' %}{% if loop.previtem.role != 'tool' %}<|im_start|>user{% endif %}{{ '\n' }}<tool_response>
{{ m.content }}
</tool_response>{% if loop.last or loop.nextitem.role != 'tool' %}<|im_end|>
{% endif %}{% else %}<|im_start|>{{ m.role }}
{{ m.content or '' }}"""
    + CALLS
    + """<|im_end|>
{% endif %}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
)
#: Reasoning is written in the last turn only.
FORGETFUL = GROUPED.replace(
    "{{ m.content or '' }}",
    "{% if m.reasoning_content and loop.last %}<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}"
    "{{ m.content or '' }}",
)
#: Reasoning is written in every turn.
MINDFUL = FORGETFUL.replace(" and loop.last", "")
#: The next role's marker ends a turn.
ENDLESS = r"""{% for m in messages %}{% if m.role == 'assistant' %}<|assistant|>
{{ m.content or '' }}{% for c in m.tool_calls or [] %}{{ '\n' }}<tool_call>{{ c.function.name }}
{% for k, v in c.function.arguments.items() %}<arg_key>{{ k }}</arg_key>
<arg_value>{{ v if v is string else v | tojson }}</arg_value>
{% endfor %}</tool_call>{% endfor %}{% else %}{% if m.role == 'tool' %}{% if loop.previtem.role != 'tool' %}<|observation|>{% endif %}{{ '\n' }}<tool_response>{{ m.content }}</tool_response>{% else %}<|{{ m.role }}|>
{{ m.content }}{% endif %}{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>
{% endif %}"""
#: The end is written once a message follows.
LATE = GROUPED.replace("</tool_call>{% endfor %}<|im_end|>\n", "</tool_call>{% endfor %}{% if not (loop.last and "
    "m.role == 'assistant') %}<|im_end|>\n{% endif %}")  # fmt: skip
#: The last turn of a conversation ends with another token.
RETURNING = GROUPED.replace("</tool_call>{% endfor %}<|im_end|>\n", "</tool_call>{% endfor %}"
    "{% if loop.last and m.role == 'assistant' %}<|endoftext|>{% else %}<|im_end|>{% endif %}{{ '\\n' }}")  # fmt: skip

#: The next role's marker ends a turn, and the last turn of a conversation has an end.
LASTLY = ENDLESS.replace("</tool_call>{% endfor %}", "</tool_call>{% endfor %}"
    "{% if loop.last and m.role == 'assistant' %}<|endoftext|>{% endif %}")  # fmt: skip

JSON_CALLS = (
    '\n<tool_call>\n{"name": "weather", "arguments": {"city": "Paris"}}\n</tool_call>'
    '\n<tool_call>\n{"name": "news", "arguments": {"days": 3}}\n</tool_call>'
)
TAGGED_CALLS = (
    "\n<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n</tool_call>"
    "\n<tool_call>news\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>"
)


class Model(NamedTuple):
    """A template, its format, and two answers without their end: with calls and without."""

    template: str
    format: str
    calls: str
    ends: dict[str, str]  # by the next message's role


CHATML = {"tool": "<|im_end|>", "user": "<|im_end|>"}
MODELS = {
    "grouped": Model(GROUPED, "hermes", JSON_CALLS, CHATML),
    "mindful": Model(MINDFUL, "qwen3", JSON_CALLS, CHATML),
    "forgetful": Model(FORGETFUL, "qwen3", JSON_CALLS, CHATML),
    "endless": Model(ENDLESS, "glm45", TAGGED_CALLS, {"tool": "<|observation|>", "user": "<|user|>"}),
    "lastly": Model(LASTLY, "glm45", TAGGED_CALLS, {"tool": "<|observation|>", "user": "<|user|>"}),
    "late": Model(LATE, "hermes", JSON_CALLS, CHATML),
    "returning": Model(RETURNING, "hermes", JSON_CALLS, CHATML),
}
OFFERED = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": "A tool.",
            "parameters": {"type": "object", "properties": {key: {"type": kind}}},
        },
    }
    for name, key, kind in (("weather", "city", "string"), ("news", "days", "integer"))
]
USER: dict[str, Any] = {"role": "user", "content": "What is new in Paris?"}


@functools.cache
def tokenizer_of(name: str) -> Tokenizer:
    """A token a byte, and one for each marker of the format and of the template."""
    model = MODELS[name]
    special = sorted({*re.findall(r"<\|\w+\|>", model.template), "<|user|>", "<|endoftext|>"})
    own = MarkerTokenizer(unspool.get_format(model.format).facts.marker_tokens, [END, *special])
    return Tokenizer.from_str(own.to_str())


def render(name: str, messages: list[dict[str, Any]], is_prompt: bool = True) -> str:
    """What the template writes."""
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    template = environment.from_string(MODELS[name].template)
    return template.render(messages=messages, add_generation_prompt=is_prompt, tools=OFFERED)

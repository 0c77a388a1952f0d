"""Chat templates of our own, put together from ways to write calls and reasoning; no model has their markers."""

from __future__ import annotations

TOOLS = "{% if tools %}<sys>{% for t in tools %}{{ t | tojson }}{% endfor %}</sys>\n{% endif %}"
LIST = "{% for c in m.tool_calls %}{% set f = c.function %}"
END = "{% endfor %}"

#: How calls are written: the template's text, and the patterns that must be learnt of it.
CALLS = {
    "an object": (
        LIST
        + '{{ "\\n" }}<use>\n{"name": "{{ f.name }}", "arguments": {{ f.arguments | tojson }}}\n</use>'
        + END,
        {"call": ("\n<use>\n${object}\n</use>",)},
    ),
    "an object with other keys": (
        LIST + '<use>{"tool": {{ f.name | tojson }}, "input": {{ f.arguments | tojson }}}</use>' + END,
        {"call": ("<use>${object}</use>",), "object": ('{"tool": ${name}, "input": ${arguments}}',)},
    ),
    "an object in an object": (
        LIST
        + '<use>{"type": "fn", "fn": {"name": {{ f.name | tojson }}, "arguments": {{ f.arguments | tojson }}}}'
        "</use>" + END,
        {
            "call": ('<use>{"type": "fn", "fn": {"name": "${name}", "arguments": ${arguments}}}</use>',),
        },
    ),
    "the name as the key": (
        "<|uses|>["
        + LIST
        + "{% if not loop.first %}, {% endif %}{ {{- f.name | tojson }}: {{ f.arguments | tojson -}} }"
        + END
        + "]<|done|>",
        {"call": ("<|uses|>[${object}, ${...}]<|done|>",), "object": ("{${name}: ${arguments}}",)},
    ),
    "a list": (
        "[USE][" + LIST + "{% if not loop.first %}, {% endif %}"
        '{"name": {{ f.name | tojson }}, "arguments": {{ f.arguments | tojson }}, "id": {{ c.id | tojson }}}'
        + END
        + "]",
        {
            "call": ("[USE][${object}, ${...}]",),
            "object": ('{"name": ${name}, "arguments": ${arguments}, "id": ${id}}',),
        },
    ),
    "a name and arguments in a section": (
        "<|uses|>"
        + LIST
        + "<|use|>{{ f.name }}<|with|>{{ f.arguments | tojson }}<|/use|>"
        + END
        + "<|/uses|>",
        {"calls": ("<|uses|>${calls}<|/uses|>",), "call": ("<|use|>${name}<|with|>${arguments}<|/use|>",)},
    ),
    "an id before the name": (
        LIST + "<|use|>{{ c.id }}<|name|>{{ f.name }}<|with|>{{ f.arguments | tojson }}<|/use|>" + END,
        {"call": ("<|use|>${id}<|name|>${name}<|with|>${arguments}<|/use|>",)},
    ),
    "an id made of the name": (
        LIST + "<|use|>fn.{{ f.name }}:{{ loop.index0 }}<|with|>{{ f.arguments | tojson }}<|/use|>" + END,
        {"call": ("<|use|>${id}<|with|>${arguments}<|/use|>",), "id": ("fn.${name}:${index}",)},
    ),
    "parameters in tags": (
        LIST + "{{ '\\n' }}<use>\n<fn={{ f.name }}>\n{% for k, v in f.arguments.items() %}<arg={{ k }}>\n"
        "{{ v if v is string else v | tojson }}\n</arg>\n{% endfor %}</fn>\n</use>" + END,
        {"call": ("\n<use>\n<fn=${name}>${parameters}\n</fn>\n</use>",)},
    ),
    "keys and values in tags": (
        LIST + "<use>{{ f.name }}{% for k, v in f.arguments.items() %}<k>{{ k }}</k><v>"
        "{{ v if v is string else v | tojson }}</v>{% endfor %}</use>" + END,
        {"call": ("<use>${name}${parameters}</use>",), "parameter": ("<k>${key}</k><v>${value}</v>",)},
    ),
    "a type for each parameter": (
        LIST + '<use to="{{ f.name }}" no="{{ loop.index }}">{% for k, v in f.arguments.items() %}'
        "<arg key=\"{{ k }}\" text=\"{{ 'yes' if v is string else 'no' }}\">"
        "{{ v if v is string else v | tojson }}</arg>{% endfor %}</use>" + END,
        {
            "call": ('<use to="${name}" no="${index:1}">${parameters}</use>',),
            "parameter": (
                '<arg key="${key}" text="yes">${value:verbatim}</arg>',
                '<arg key="${key}" text="no">${value:json}</arg>',
            ),
        },
    ),
    "elements": (
        LIST + '<use name="{{ f.name }}">{% for k, v in f.arguments.items() %}<|p|><{{ k }}>'
        "{{ v if v is string else v | tojson }}<|p|></{{ k }}>{% endfor %}</use>" + END,
        {
            "call": ('<use name="${name}">${parameters}</use>',),
            "parameter": ("<|p|><${key}>${value}<|p|></${key}>",),
        },
    ),
    "elements of one letter": (
        LIST + '<use name="{{ f.name }}">{% for k, v in f.arguments.items() %}<{{ k }}>'
        "{{ v if v is string else v | tojson }}</{{ k }}>{% endfor %}</use>" + END,
        {"parameter": ("<${key}>${value}</${key}>",)},
    ),
    "escaped values": (
        LIST + '<use name="{{ f.name }}">{% for k, v in f.arguments.items() %}<arg name="{{ k }}">'
        "{{ (v if v is string else v | tojson) | replace('&', '&amp;') | replace('<', '&lt;') | replace('>', '&gt;') }}"
        "</arg>{% endfor %}</use>" + END,
        {"parameter": ('<arg name="${key}">${value:xml}</arg>',)},
    ),
}

#: How reasoning is written: its text, what the prompt opens, and the pattern that must be learnt.
REASONING = {
    "none": ("", "", ()),
    "tags": (
        "{% if m.reasoning_content %}<muse>\n{{ m.reasoning_content }}\n</muse>\n\n{% endif %}",
        "",
        ("<muse>\n${reasoning}\n</muse>\n\n",),
    ),
    "opened by the prompt": (
        "<muse>{{ m.reasoning_content }}</muse>",
        "<muse>",
        ("<muse>${reasoning}</muse>",),
    ),
    "a word": (
        "{% if m.thinking %}[[muse]]{{ m.thinking }}[[/muse]]{% endif %}",
        "",
        ("[[muse]]${reasoning}[[/muse]]",),
    ),
}


def template_of(calls: str, reasoning: str) -> str:
    """A template that writes calls and reasoning in these ways."""
    thought, opened, _ = REASONING[reasoning]
    return (
        TOOLS
        + "{% for m in messages %}{% if m.role == 'assistant' %}<|at|>assistant\n"
        + thought
        + "{{ m.content or '' }}{% if m.tool_calls %}"
        + CALLS[calls][0]
        + "{% endif %}<|over|>\n{% else %}<|at|>{{ m.role }}\n{{ m.content }}<|over|>\n{% endif %}{% endfor %}"
        + "{% if add_generation_prompt %}<|at|>assistant\n"
        + opened
        + "{% endif %}"
    )

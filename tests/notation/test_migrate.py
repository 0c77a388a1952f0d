"""Files from before the notation: tables that say how to read, converted to patterns."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import unspool
from unspool.migrate_format import Migration, migrate_format

TAGGED = '''# What mine writes.
name = "mine"
models = ["Mine 7B"]
aliases = ["mine-7b"]
notes = """
[section] is no table here.
"""
# From the tokenizer.
ignore = ["<|im_end|>", "<|${x}|>"]

[reasoning]
open = "<think>"
open_after = "\\n"
close = "</think>"
close_before = "\\n"
close_after = "\\n\\n"
starts_open = true
turn = "<|assistant|>"

# The word is markup.
[[markup]]
open = "<answer>"
[[markup]]
open = ["</answer>", "<pad>"]

[[call]]
open = ["<tool_call>", "[CALL]"]
open_before = "\\n"
close = ["</tool_call>", "[/CALL]"]
body = "json_call"

[call.json_call]
name_keys = ["tool", "name"]
id_keys = ["call_id"]

# How to know it.
[detect]
tokens = ["<tool_call>"]

[[example]]
input = "Hm.\\n</think>\\n\\nHi\\n[CALL]{\\"tool\\": \\"f\\", \\"arguments\\": {}}[/CALL]"
reasoning = "Hm."
content = "Hi"
calls = [{ name = "f", arguments = "{}" }]  # none
'''

TAGGED_NOW = '''# What mine writes.
name = "mine"
models = ["Mine 7B"]
aliases = ["mine-7b"]
notes = """
[section] is no table here.
"""

# From the tokenizer.
# The word is markup.
turn      = "<|assistant|><think>\\n"
reasoning = "<think>\\n${reasoning:verbatim}\\n</think>\\n\\n"
content   = ["<answer>${content}</answer>", "<pad>"]
call      = ["\\n<tool_call>\\n${object}\\n</tool_call>", "\\n[CALL]\\n${object}\\n[/CALL]"]
object    = '{"call_id": ${id}, "tool": ${name}, "arguments": ${arguments}}'
end       = ["<|im_end|>", "<|$${x}|>"]

# How to know it.
[detect]
tokens = ["<tool_call>"]

[[example]]
input = "Hm.\\n</think>\\n\\nHi\\n[CALL]{\\"tool\\": \\"f\\", \\"arguments\\": {}}[/CALL]"
reasoning = "Hm."
content = "Hi"
calls = [{ name = "f", arguments = "{}" }]  # none
'''

MESSAGES = """name = "mine"
ignore = "<|return|>"

[reasoning]
open = "<|channel|>thoughts<|message|>"
close = ["<|end|>", "<|return|>", "<|call|>"]
turn = "<|start|>model"

[[markup]]
open = ["<|start|>", "<|channel|>"]
close = "<|message|>"
begins = [" to=", "to="]
header = '(?:model|thoughts|answer|<\\|start\\|>|<\\|channel\\|>|\\s)*(?:to=[^{"]*)?'
recipient = "to="
not_tools = ["user", "assistant", "all"]
reasoning = "thoughts"

[[markup]]
open = ["<|end|>", "<|call|>", "<|message|>"]

[[call]]
by_recipient = true
close = ["<|call|>", "<|end|>"]
name_prefix = "functions."
body = "json_arguments"

[[example]]
input = '<|channel|>thoughts<|message|>Hm.<|end|><|start|>model to=functions.f<|message|>{"a": 1}<|call|>'
reasoning = "Hm."
calls = [{ name = "f", arguments = '{"a": 1}' }]
"""

MESSAGES_NOW = """name = "mine"

turn      = "<|start|>model"
header    = ["<|start|>${_}<|message|>", "<|channel|>${_}<|message|>"]
reasoning = "<|start|>model<|channel|>thoughts<|message|>${reasoning:verbatim}<|end|>"
content   = "<|start|>model<|channel|>answer<|message|>${content}<|end|>"
call      = "<|start|>model to=functions.${name}<|message|>${arguments}<|call|>"
end       = "<|return|>"

[[example]]
input = '<|channel|>thoughts<|message|>Hm.<|end|><|start|>model to=functions.f<|message|>{"a": 1}<|call|>'
reasoning = "Hm."
calls = [{ name = "f", arguments = '{"a": 1}' }]
"""

# Tables, an output, what it gives, and the tools where they are known.
OLD: dict[str, tuple[str, str, dict[str, Any], list[dict[str, Any]] | None]] = {
    "bare and fenced": (
        """
[[call]]
bare = "line"
fenced = true
starts = "{["
close = "```"
close_before = "\\n"
body = "json_call"
separators = ",;"
known_tools = "required"
""",
        'Hi\n```json\n{"name": "f", "arguments": {"a": 1}}\n```\n{"name": "g"}',
        {"calls": [("f", '{"a": 1}')], "content": 'Hi\n\n{"name": "g"}'},
        [{"name": "f"}],
    ),
    "a list, and a bare one": (
        """
[[call]]
open = "[TOOL_CALLS]"
body = "json_call"
starts = "[{"
[[call]]
bare = "start"
body = "json_call"
starts = "["
known_tools = "if_given"
""",
        '[{"name": "f", "arguments": {"a": 1}}, {"name": "f"}]',
        {"calls": [("f", '{"a": 1}'), ("f", "{}")], "content": ""},
        [{"name": "f"}],
    ),
    "an id after the name": (
        """
call_ids = "nine"
[[call]]
open = "[CALL]"
name_close = "[ARGS]"
name_stops = "{"
id_open = "[ID]"
body = "json_arguments"
""",
        '[CALL]f[ID]abc123456[ARGS]{"a": 1}[CALL]g[ARGS]{}',
        {"calls": [("f", '{"a": 1}'), ("g", "{}")], "id": "abc123456"},
        None,
    ),
    "an id in place of the name": (
        """
call_ids = "functions"
[section]
open = "<|calls|>"
close = "<|end_calls|>"
[[call]]
open = "<|call|>"
close = "<|end_call|>"
name_close = "<|args|>"
name_prefix = "functions."
name_is_id = true
body = "json_arguments"
""",
        '<|calls|><|call|>functions.f:0<|args|>{"a": 1}<|end_call|><|end_calls|>',
        {"calls": [("f", '{"a": 1}')], "id": "functions.f:0", "content": ""},
        None,
    ),
    "python": (
        """
[[call]]
open = "<py>"
close = "</py>"
body = "pythonic"
separators = ",;"
[[call]]
open = "<py>"
close = "</py>"
body = "json_call"
starts = "["
second = "{"
[[call]]
open = "<py>"
close = "</py>"
body = "json_call"
starts = "{"
""",
        '<py>[f(a="x", b=True)]</py><py>[{"name": "g"}]</py><py>{"name": "h"}</py>',
        {"calls": [("f", '{"a": "x", "b": true}'), ("g", "{}"), ("h", "{}")], "content": ""},
        None,
    ),
    "quotes of its own": (
        """
[[call]]
open = "<|tool_call>"
name_prefix = "call:"
next = ["call:", ",call:", ", call:"]
close = "<tool_call|>"
name_stops = "{("
body = "literal_arguments"
quotes = '<|"|>'
""",
        '<|tool_call>call:f{a:<|"|>x<|"|>,b:2}call:g{}<tool_call|>',
        {"calls": [("f", '{"a":"x","b":2}'), ("g", "{}")], "content": ""},
        None,
    ),
    "parameters with options": (
        """
[[call]]
open = ["<invoke name=", "<invokename="]
close = "</invoke>"
name_close = ">"
body = "xml_parameters"
[call.xml_parameters]
open = "<param name="
name_close = ">"
close = ["]]></param>", "</param>"]
value_open = "<![CDATA["
trim = "none"
entities = true
python_values = true
name_entities = true
""",
        '<invoke name="f"><param name="a&amp;b"><![CDATA[&lt;]]></param>'
        "<param name=\"c\">&lt;\n</param><param name=\"d\">{'e': True}</param></invoke>",
        {"calls": [("f", '{"a&b": "&lt;", "c": "<\\n", "d": {"e": true}}')], "content": ""},
        [{"name": "f", "parameters": {"properties": {"d": {"type": "object"}}}}],
    ),
    "parameters that name their type": (
        """
[[call]]
open = "<call>"
close = "</call>"
name_close = ["\\n", "<key>"]
body = "xml_parameters"
[call.xml_parameters]
open = "<key>"
name_end = "</key>"
name_close = "<value>"
close = "</value>"
trim = "newline"
[call.xml_parameters.types]
"<type>str" = "string"
"<type>int" = "integer"
"<type>list" = "array"
""",
        "<call>f\n<key>a</key><type>str</type><value>\n1\n</value>\n"
        "<key>b</key><type>int</type><value>1</value></call>",
        {"calls": [("f", '{"a": "1", "b": 1}')], "content": ""},
        None,
    ),
    "keys and values in brackets": (
        """
[[call]]
open = "[CALL]"
close = "[/CALL]"
name_close = ["\\n", "[KEY]"]
body = "xml_parameters"
[call.xml_parameters]
open = "[KEY]"
name_end = "[/KEY]"
name_close = "[VALUE]"
close = "[/VALUE]"
trim = "none"
""",
        "[CALL]f[KEY]a[/KEY][VALUE]1 [/VALUE]\n[KEY]b[/KEY]\n[VALUE]2[/VALUE][/CALL]",
        {
            "calls": [("f", '{"a": "1 ", "b": "2"}')],
            "content": "",
            "notes": [f"call.xml_parameters.name_{key}" for key in ("close", "end", "close", "close")],
        },
        None,
    ),
    "text or JSON": (
        """
[[call]]
open = "<invoke name="
close = "</invoke>"
name_close = ">"
body = "xml_parameters"
[call.xml_parameters]
open = "<p name="
name_close = ">"
close = "</p>"
trim = "none"
[call.xml_parameters.types]
'string="true"' = "string"
'string="false"' = "json"
""",
        '<invoke name="f"><p name="a" string="true">1</p><p name="b" string="false">[1]</p></invoke>',
        {"calls": [("f", '{"a": "1", "b": [1]}')], "content": ""},
        None,
    ),
    "elements": (
        """
[[call]]
open = "<|x|><invoke name="
close = "<|x|></invoke>"
name_close = ">"
body = "xml_elements"
[call.xml_elements]
open = "<|x|><"
""",
        '<|x|><invoke name="f"><|x|><a>x<|x|></a><|x|></invoke>',
        {"calls": [("f", '{"a": "x"}')], "content": ""},
        None,
    ),
    "citations": (
        """
[reasoning]
open = "<plan>"
close = ["</plan>", "<|START_TEXT|>"]
tool_calls = "end"
[[markup]]
open = "<|START_TEXT|>"
[[markup]]
open = "<|END_TEXT|>"
[[markup]]
open = "<co>"
inline = true
[[markup]]
open = "</co:"
close = ">"
header = '[\\s\\d:,\\[\\]]*'
inline = true
""",
        "<plan>Hm.<|START_TEXT|>It is <co>warm</co: 0:[1]> there.<|END_TEXT|>",
        {"content": "It is warm there.", "reasoning": "Hm.", "notes": ["markup.header"]},
        None,
    ),
    "authors": (
        """
[reasoning]
open = "<|thinking|>"
close = ["<|end|>", "<|stop|>"]
tool_calls = "end"
[[markup]]
open = "<|message|>"
close = ["<|text|>", "<|stop|>"]
header = '[^\\s<]*'
[[markup]]
open = ["<|text|>", "<|end|>", "<|stop|>"]
[[call]]
open = "<|json|>"
close = ["<|end|>", "<|stop|>"]
body = "json_call"
[call.json_call]
arguments_keys = ["args"]
""",
        '<|message|>m<|thinking|>Hm.<|end|><|message|>m<|text|>Hi<|end|><|json|>{"name": "f", "args": {}}<|stop|>',
        {"calls": [("f", "{}")], "content": "Hi", "reasoning": "Hm.", "notes": ["ignore", "reasoning.close"]},
        None,
    ),
    "nothing": ("plain = true\n", "<think>a</think>", {"content": "<think>a</think>"}, None),
}  # fmt: skip


def migrated(tables: str) -> Migration:
    return migrate_format('name = "mine"\n' + tables, "mine.toml")


@pytest.mark.parametrize(("old", "new"), [(TAGGED, TAGGED_NOW), (MESSAGES, MESSAGES_NOW)])
def test_the_whole_file(old: str, new: str) -> None:
    migration = migrate_format(old, "mine.toml")
    assert migration.text == new
    assert migration.faults == ()
    assert migrate_format(old.replace("\n", "\r\n"), "mine.toml").text == new


@pytest.mark.parametrize("name", OLD)
def test_an_output_is_read_as_before(name: str) -> None:
    tables, output, expected, tools = OLD[name]
    migration = migrated(tables)
    assert migration.format
    assert [note.split(":")[0] for note in migration.notes] == expected.get("notes", [])
    assert migration.faults == ()
    for pieces in ([output], list(output)):
        parser = unspool.Parser(migration.format, tools)
        for piece in pieces:
            parser.parse_chunk(piece)
        message = parser.finish()
        calls = [(call.name, call.arguments) for call in message.tool_calls if call.is_complete]
        assert calls == expected.get("calls", [])
        assert message.content == expected.get("content", message.content)
        assert message.reasoning == expected.get("reasoning", "")
        assert "id" not in expected or message.tool_calls[0].id == expected["id"]
        assert not message.malformed


def test_what_the_notation_cannot_say_is_a_note() -> None:
    tables, *_ = OLD["parameters with options"]
    migration = migrated(
        '[reasoning]\nopen = "<think>"\nclose = "</think>"\ntool_calls = "keep"\n'
        + tables
        + "next_closes = true\n"
    )
    assert [note.split(":")[0] for note in migration.notes] == [
        "call.xml_parameters.next_closes",
        "reasoning.tool_calls",
    ]
    assert "the new file cannot say 'keep'" in migration.notes[1]
    alone = '[reasoning]\nopen = "<t>"\nclose = "</t>"\n[[markup]]\nopen = "<mark>"\ninline = true\n'
    assert 'content   = "<mark>"\n' in migrated(alone).text
    assert [note.split(":")[0] for note in migrated(alone).notes] == ["markup.inline"]
    two = '[[call]]\nopen = "<a>"\nclose = "</a>"\n[call.json_call]\nname_is_key = true\n[[call]]\nopen = "<b>"\n'
    assert [note.split(":")[0] for note in migrated(two).notes] == ["call.json_call"]


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ('[[call]]\nopen = "<c>"\nclos = "</c>"', r"mine.toml:4: unknown key 'call.clos'; use one of bare, "),
        ('[[call]]\nopen = 5', r"mine.toml:3: call.open is 5; write a text, or a list of texts"),
        ('[[call]]\nopen = ["<c>", ""]', r"mine.toml:3: call.open is \['<c>', ''\]; write a text, or"),
        ('[[call]]\nfenced = "yes"', r"mine.toml:3: call.fenced is 'yes'; write true or false"),
        ('[[call]]\nbody = "jsn"', r"mine.toml:3: call.body is 'jsn'; use one of json_call, json_arguments"),
        ('[[call]]\n[call.json_call]\nname_keys = "n"', r"mine.toml:4: call.json_call.name_keys is 'n'; write a list"),
        ('[call]\nopen = "<c>"', r"mine.toml:2: call is not a list of tables; write \[\[call\]\]"),
        ('section = "<s>"\n[[call]]\nopen = "<c>"', r"mine.toml:2: section is not a table; write \[section\]"),
        ('ignore = "<|end|>"', r"mine.toml:1: neither calls nor reasoning"),
        ("[[call]\n", "mine.toml: not TOML"),
        ('call = "<c>${object}</c>"', "mine.toml: it says what the model writes already"),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused(tables: str, message: str) -> None:
    with pytest.raises(unspool.FormatError, match=message):
        migrated(tables)


def test_what_is_no_table_stays_as_it_is() -> None:
    kept = (
        'name = "mine" # [[call]]\n'
        'models = [ # ["\n  "]", \'"\',\n]\n'
        'notes = """\n[[call]]\n\\""" ""\n"""\n'
        "example = [{ input = \"}\", content = '}' }]\n"
    )
    migration = migrate_format(kept + 'call = [{ open = "<c>" }]\n')
    assert migration.text == kept + '\ncall = "<c>${object}"\n'
    lines = 'notes = """' + "a [line]\n" * 50_000 + '"""\n'  # linear time
    assert lines in migrate_format(lines + 'name = "m"\n[[call]]\nopen = "<c>"\n').text


def test_a_file_without_a_name_is_refused() -> None:
    with pytest.raises(unspool.FormatError, match=r"mine\.toml:1: no name"):
        migrate_format('[[call]]\nopen = "<c>"\n', "mine.toml")


def check_migrate(*paths: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "unspool", "check", "--migrate", *map(str, paths)]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60, check=False)


def test_the_command(tmp_path: Path) -> None:
    old, new = tmp_path / "old.toml", tmp_path / "new.toml"
    old.write_text(TAGGED, encoding="utf-8")
    done = check_migrate(old)
    assert (done.returncode, done.stdout, done.stderr) == (0, TAGGED_NOW, "")
    new.write_text(done.stdout, encoding="utf-8")
    again = check_migrate(old, new)
    assert again.returncode == 1
    assert again.stdout == f"# {old}\n{TAGGED_NOW}"
    assert again.stderr == "new.toml: it says what the model writes already; there is nothing to migrate\n"


def test_the_command_reports_an_example_that_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(TAGGED.replace('reasoning = "Hm."', 'reasoning = "Ho."'), encoding="utf-8")
    done = check_migrate(path)
    assert done.returncode == 1
    assert done.stdout == TAGGED_NOW.replace('"Hm."\n', '"Ho."\n')
    assert "example 1" in done.stderr
    path.write_text('name = "mine"\n[[call]]\nopen = "<c>"\nbody = "xml_parameters"\n', encoding="utf-8")
    done = check_migrate(path)
    assert done.returncode == 1
    assert "the new file is refused: " in done.stderr

"""Writes docs/formats.md, docs/formats-by-example.md and the tables of docs/add-a-format.md.

Run it after a change of a format's file: `python docs/make_formats.py`.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from unspool import FormatFile, formats, get_format
from unspool._core import format_words
from unspool.formats.explain_format import reading_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DOCS = Path(__file__).parent
STACKS = {
    "vllm": "vLLM", "vllm_rust": "vLLM's Rust frontend", "sglang": "SGLang", "smg": "SMG", "dynamo": "Dynamo",
    "lmdeploy": "LMDeploy", "mlx_lm": "mlx-lm", "rapid_mlx": "Rapid-MLX", "easydel": "EasyDeL",
    "ovms": "OpenVINO Model Server",
}  # fmt: skip
#: Names of the checkpoint's own template.
OF_THE_TEMPLATE = ("hf", "response_template", "auto")
HEAD = """# Formats

Use any name or alias of a format, in upper or lower case. `unspool formats` prints the list, and `unspool demo NAME` replays an
example. `python docs/make_formats.py` generates this page from the files in `parsers/`, and a test checks that it is up to date.

The names `hf` and `response_template` mean the checkpoint's own response template. They need a tokenizer that has one. For
the handling of a call inside reasoning, see [`tool_calls_in_reasoning`](how-it-works.md#policies).

## Families

| format | models | a call begins with | body | reasoning | a call inside reasoning | also called |
|---|---|---|---|---|---|---|
"""
_BODIES = {
    "json_call": "JSON with name and arguments",
    "json_arguments": "name, then JSON",
    "literal_arguments": "name, then braces with bare keys",
    "pythonic": "Python calls",
    "xml_parameters": "tagged parameters",
    "xml_elements": "nested elements",
}


def code(text: str) -> str:
    """A text as inline code in a table."""
    shown = text.replace("\n", "↵").replace("|", "\\|")
    return f"`` {shown} ``" if "`" in shown else f"`{shown}`"


def openers(file: FormatFile) -> str:
    """What a call begins with."""
    found: list[str] = []
    for call in file.facts.calls:
        found += map(code, call.openers)
        if call.after_header:
            found.append("a header that names it")
        if call.bare:
            places = {"start": "the message's start", "line": "a line's start", "section": "the section"}
            found.append(f"bare, at {places[call.bare]}")
    return " or ".join(dict.fromkeys(found)) or "–"


def bodies(file: FormatFile) -> str:
    """How calls are written."""
    found = [_BODIES[call.body] for call in file.facts.calls]
    return " or ".join(dict.fromkeys(found)) or "–"


def reasoning(file: FormatFile) -> str:
    """What stands around reasoning."""
    tags = file.facts.reasoning
    if tags is None:
        return "–"
    opened = " (opened by the prompt)" if tags.starts_open else ""
    end = code(tags.closers[0]) if tags.closers else "the call"
    return f"{code(tags.openers[0])} … {end}{opened}"


def row(file: FormatFile) -> str:
    """One line of the table."""
    tags = file.facts.reasoning
    inside = {"auto": "is held back", "keep": "is text", "end": "ends it"}[tags.tool_calls] if tags else "–"
    aliases = ", ".join(map(code, file.aliases)) or "–"
    cells = [code(file.name), ", ".join(file.models), openers(file), bodies(file), reasoning(file), inside]
    return f"| {' | '.join([*cells, aliases])} |\n"


def stack_names() -> dict[str, dict[str, list[str]]]:
    """The names of each stack, tools and reasoning."""
    names = tomllib.loads((DOCS / "stack_names.toml").read_text(encoding="utf-8"))
    return {stack: {kind: kinds[kind] for kind in ("tools", "reasoning")} for stack, kinds in names.items()}


def stacks() -> str:
    """The names that each stack has for each format."""
    text = "\n## Names in other stacks\n\n| format | " + " | ".join(STACKS.values()) + " |\n"
    text += "|---|" + "---|" * len(STACKS) + "\n"
    found: dict[str, dict[str, list[str]]] = {}
    for stack, kinds in stack_names().items():
        for name in dict.fromkeys([*kinds["tools"], *kinds["reasoning"]]):
            if name not in OF_THE_TEMPLATE:
                found.setdefault(get_format(name).name, {}).setdefault(stack, []).append(code(name))
    for name in sorted(found):
        cells = [", ".join(found[name].get(stack, ["–"])) for stack in STACKS]
        text += f"| {code(name)} | {' | '.join(cells)} |\n"
    return text


def notes() -> str:
    """What a user of a format should know."""
    text = "\n## Notes\n"
    for file in formats():
        text += f"\n**{file.name}.** {' '.join(file.notes.split())}\n"
    return text


EXAMPLES_HEAD = """# Formats by example

Ten formats, from easy to hard. Each has its patterns, an output of its model, and how the parser reads it. [Add a
format](add-a-format.md) explains every word. `python docs/make_formats.py` makes this page from the files in
`parsers/`, and a test compares.
"""
CHECK_HEAD = """
## What `unspool check` prints

`unspool check` prints these sentences for any file, and ends with a sample that it writes from the patterns. Here are a
format with JSON calls, one with tagged parameters and one with headers.
"""
CHECKED = ("hermes", "glm47", "openai")
#: What each of the ten teaches.
LESSONS = {
    "hermes": "One object holds the name and the arguments: `${object}`. The line break before the tag is markup.",
    "functionary": "`${name}` is outside of the JSON. `${arguments}` is one JSON object.",
    "glm45": "Each argument has tags: `${parameters}` repeats the pattern `parameter`. There is no line break around "
    "`${value}`, so a value keeps all white space.",
    "kimi_k2": "`calls` is the markup around all calls, in two spellings. The call's id contains the tool's name, as "
    "the pattern `id` shows.",
    "mistral": "A list holds alternatives: this family has several forms of a call. The last one has no opener, so it "
    "counts only at the start of the message.",
    "deepseek_v32": "The two alternatives of `parameter` differ in an attribute, which shows whether the value is "
    "text or JSON.",
    "lfm2": "`${...}` repeats the item before it: an argument within a call, or a call within the list.",
    "gemma4": "Keys have no quotes, and `string` shows how strings are quoted. The third alternative is a call whose "
    "first token is missing.",
    "minimax_m3": "`${key}` occurs twice: it opens and closes an element. Elements can be nested.",
    "openai": "Messages have headers, and `header` shows their form. The words of a header may be in any order.",
}


def examples_page() -> str:
    """The page of formats by example."""
    lessons = "".join(lesson(get_format(name), text) for name, text in LESSONS.items())
    return EXAMPLES_HEAD + lessons + CHECK_HEAD + "".join(map(printed, CHECKED))


def printed(name: str) -> str:
    """What `unspool check` prints for a shipped format."""
    path = f"parsers/{name}.toml"
    lines = [
        f"$ unspool check {path}",
        f"{path}: ok",
        *(f"  {line}" for line in reading_of(get_format(name))),
    ]
    return "\n```text\n" + "\n".join(lines) + "\n```\n"


def lesson(file: FormatFile, text: str) -> str:
    """One format of the page."""
    shown = file.examples[0]["input"]
    sentences = "\n".join(f"- {sentence}" for sentence in file.sentences)
    return (
        f"\n## {file.name}\n\n{text}\n\n```toml\n{patterns_of(file)}\n```\n\nThe model writes:\n\n"
        f"```text\n{shown}\n```\n\n{sentences}\n"
    )


def patterns_of(file: FormatFile) -> str:
    """The lines of a file that hold patterns, as they stand."""
    text = (DOCS.parent / "parsers" / f"{file.name}.toml").read_text(encoding="utf-8")
    text = re.split(r"^\[+\w+\]+$", text, flags=re.M)[0]
    first = re.search(rf"^({'|'.join(file.patterns)}) *=", text, flags=re.M)
    assert first is not None
    return text[first.start() :].strip()


def words_table(words: list[dict[str, Any]], head: str) -> str:
    """Words with their meanings, as a table."""
    rows = "".join(f"| {code(word['name'])} | {word['meaning']} |\n" for word in words)
    return f"| {head} | meaning |\n|---|---|\n{rows}"


def with_words(page: str) -> str:
    """The page on adding a format, with the tables of all words."""
    words = json.loads(format_words())
    for kind in ("holes", "options"):
        for word in words[kind]:
            word["name"] = f"${{{word['name']}}}" if kind == "holes" else word["name"]
    heads = {"keys": "key", "holes": "hole", "options": "option"}
    tables = "\n".join(words_table(words[kind], head) for kind, head in heads.items())
    page = _fill(page, "words", tables)
    page = _fill(page, "example", words_table(words["example"], "key"))
    return _fill(page, "detect", words_table(words["detect"], "key"))


def _fill(page: str, name: str, text: str) -> str:
    """The page with what stands between the two comments of this name."""
    pattern = re.compile(rf"(<!-- {name}: .*? -->\n).*?(<!-- end of {name} -->)", re.S)
    return pattern.sub(lambda match: f"{match[1]}\n{text}\n{match[2]}", page)


def make() -> str:
    """The whole page."""
    return HEAD + "".join(row(file) for file in formats()) + stacks() + notes()


def main() -> None:
    """Write the pages."""
    (DOCS / "formats.md").write_text(make(), encoding="utf-8")
    (DOCS / "formats-by-example.md").write_text(examples_page(), encoding="utf-8")
    page = DOCS / "add-a-format.md"
    page.write_text(with_words(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()

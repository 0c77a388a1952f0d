"""Holes as single letters, so that texts with holes can be compared and cut like other texts."""

from __future__ import annotations

__all__ = ["ARGUMENTS", "CALLS", "CONTENT", "ID", "KEY", "MORE", "NAME", "PARAMETERS", "REASONING", "TYPE"]
__all__ += ["INDEX", "INDEX_1", "OBJECT", "VALUE", "to_pattern"]

# Private-use letters, which no template writes.
NAME, ARGUMENTS, OBJECT, PARAMETERS, KEY, VALUE, TYPE, ID = map(chr, range(0xE100, 0xE108))
MORE, CALLS, CONTENT, REASONING, INDEX, INDEX_1, ANY = map(chr, range(0xE108, 0xE10F))
VALUE_VERBATIM, VALUE_JSON, VALUE_PYTHON, VALUE_XML, VALUE_XML_PYTHON = map(chr, range(0xE120, 0xE125))

_WORDS = {
    NAME: "name", ARGUMENTS: "arguments", OBJECT: "object", PARAMETERS: "parameters", KEY: "key", VALUE: "value",
    TYPE: "type", ID: "id", MORE: "...", CALLS: "calls", CONTENT: "content", REASONING: "reasoning",
    INDEX: "index", ANY: "_", INDEX_1: "index:1", VALUE_VERBATIM: "value:verbatim", VALUE_JSON: "value:json",
    VALUE_PYTHON: "value:python", VALUE_XML: "value:xml", VALUE_XML_PYTHON: "value:xml,python",
}  # fmt: skip


def to_pattern(text: str) -> str:
    """Convert the text to the notation of format files."""
    text = text.replace("${", "$${")
    for letter, word in _WORDS.items():
        text = text.replace(letter, "${" + word + "}")
    return text

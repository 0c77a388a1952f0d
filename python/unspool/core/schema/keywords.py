"""The keywords of JSON Schema, and what becomes of each.

* Enforced: a grammar writes only values that fit. Each keyword of a type implies this type if the schema has no `type`.
* Checked: a grammar cannot express it. `check` compares the finished value; the reason is in `dropped`.
* Meaningless: it says nothing of values. So does a keyword that no table has.
"""

from __future__ import annotations

__all__ = [
    "ANNOTATIONS",
    "CHECKED",
    "COMPOSING",
    "DATA",
    "DEFINITIONS",
    "KEYWORDS_OF_TYPE",
    "LISTING",
    "MAPS",
    "NOT_STRICT",
    "TYPES",
    "UNIONS",
]

TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")

#: Enforced: what each says of values of one type.
KEYWORDS_OF_TYPE = {
    "object": (
        "properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties",
        "maxProperties",
    ),
    "array": ("items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems"),
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}  # fmt: skip

#: Enforced: the values are listed.
LISTING = ("enum", "const")

#: Enforced: they combine schemas. OpenAPI's `nullable` adds null to the schema beside it.
UNIONS = ("anyOf", "oneOf")
COMPOSING = ("$ref", "allOf", *UNIONS, "nullable")

#: Checked, each with the reason why no grammar enforces it.
CHECKED = {
    "not": "a grammar cannot exclude values",
    "if": "a grammar cannot test a condition on the value",
    "contains": "a grammar cannot ask for one item among others",
    "minContains": "a grammar cannot ask for one item among others",
    "maxContains": "a grammar cannot ask for one item among others",
    "dependentRequired": "a grammar cannot let one key depend on another",
    "dependentSchemas": "a grammar cannot let one key depend on another",
    "dependencies": "a grammar cannot let one key depend on another",
    "unevaluatedProperties": "a grammar cannot know which keys other schemas have read",
    "unevaluatedItems": "a grammar cannot know which items other schemas have read",
    "$dynamicRef": "references that depend on where they are read from are not followed",
    "$recursiveRef": "references that depend on where they are read from are not followed",
}

#: Meaningless: texts that may be long.
ANNOTATIONS = frozenset({"description", "title", "$comment", "examples", "default"})

#: They hold schemas that references lead to.
DEFINITIONS = ("$defs", "definitions")
#: Their members are schemas, whatever their names.
MAPS = frozenset(
    ("properties", "patternProperties", *DEFINITIONS, "dependentSchemas", "dependencies", "schemas")
)
#: Their values are data, not schemas.
DATA = frozenset((*LISTING, "default", "examples", "example"))

#: OpenAI's strict mode rejects them.
NOT_STRICT = (
    "allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "patternProperties",
    "propertyNames", "unevaluatedProperties", "unevaluatedItems", "minProperties", "maxProperties", "contains",
    "minContains", "maxContains", "uniqueItems",
)  # fmt: skip

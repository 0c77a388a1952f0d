"""Schemas whose types are said elsewhere: by references, unions and keywords. Each seed makes one schema."""

from __future__ import annotations

import random
from typing import Any

from .keyword_soup import TYPES, keyword_soup

__all__ = ["WRITTEN", "parameters", "typed_schema"]

#: Keywords that say something of values of one type.
IMPLYING = [
    {"pattern": "^a"}, {"minLength": 1}, {"maxLength": 9}, {"format": "date"}, {"format": "uuid"},
    {"minimum": 0}, {"maximum": 9}, {"exclusiveMinimum": -1}, {"exclusiveMaximum": 99}, {"multipleOf": 0.5},
    {"items": {"type": "integer"}}, {"prefixItems": [{"type": "integer"}]}, {"minItems": 0}, {"maxItems": 4},
    {"uniqueItems": True}, {"properties": {"a": {"type": "integer"}}}, {"additionalProperties": False},
    {"propertyNames": {"maxLength": 4}}, {"maxProperties": 3}, {"patternProperties": {"^a": {}}},
]  # fmt: skip
#: Keywords that say nothing of a type.
SILENT = [
    {}, {"description": "a value"}, {"title": "A"}, {"default": 3}, {"examples": [1]}, {"format": "int32"},
    {"deprecated": True},
]  # fmt: skip
VALUES = ["a", "None", "", 1, 2.5, 3.0, True, None, [1], {"a": 1}]
KEYS = ["a", "a/b", "a~b", "a b", "a%b", "日本", "anyOf", "0"]


def parameters(schema: Any) -> dict[str, Any]:
    """The parameters of a tool with one parameter p; what the schema defines belongs to them."""
    whole: dict[str, Any] = {"type": "object", "properties": {"p": schema}, "required": ["p"]}
    if isinstance(schema, dict) and "$defs" in schema:
        whole["properties"]["p"] = {key: value for key, value in schema.items() if key != "$defs"}
        whole["$defs"] = schema["$defs"]
    return whole


def typed_schema(seed: int) -> Any:
    """The parameters of a tool: half of them of keywords at random, half of references and unions."""
    return parameters(keyword_soup(seed)) if seed % 2 else _Maker(random.Random(seed)).parameters()


class _Maker:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.key = rng.choice(KEYS)

    def parameters(self) -> dict[str, Any]:
        places = {
            "$defs": {self.key: self.schema(1), "named": {"$anchor": "here", **self.plain()}},
            "definitions": {"T": self.schema(1)},
            "components": {"schemas": {"Pet": self.schema(1)}},
        }
        other = {"anyOf": [self.plain(), self.schema(1)]}
        part = {"$defs": {"inner": self.plain()}, "$id": "https://example.com/part.json", **self.plain()}
        places["$defs"]["part"] = part
        return {
            "$id": "https://example.com/tool.json",
            "type": "object",
            "properties": {"p": self.schema(3), "other": other, "list": {"items": [self.plain()]}},
            "required": ["p"],
            **places,
        }

    def reference(self) -> dict[str, Any]:
        key = self.key.replace("~", "~0").replace("/", "~1")
        escaped = key.replace("%", "%25").replace(" ", "%20").replace("日", "%E6%97%A5")
        places = [
            "#/properties/other/anyOf/0", "#/properties/other/anyOf/1", "#/properties/list/items/0",
            f"#/$defs/{escaped}", f"#/%24defs/{escaped}", "#/definitions/T", "#/components/schemas/Pet", "#here",
            "https://example.com/tool.json#/definitions/T", "part.json", "part.json#/$defs/inner",
        ]  # fmt: skip
        return {"$ref": self.rng.choice(places)}

    def plain(self) -> dict[str, Any]:
        rng = self.rng
        kinds = [
            lambda: {"type": rng.choice(TYPES)},
            lambda: {"type": rng.sample(TYPES, rng.randint(1, 3))},
            lambda: rng.choice(IMPLYING),
            lambda: {**rng.choice(IMPLYING), **rng.choice(IMPLYING)},
            lambda: {"enum": rng.sample(VALUES, rng.randint(1, 3))},
            lambda: {"const": rng.choice(VALUES)},
        ]
        made = {**rng.choice(SILENT), **rng.choice(kinds)()}
        return {**made, "nullable": True} if rng.random() < 0.15 else made

    def schema(self, depth: int) -> dict[str, Any]:
        if depth == 0 or self.rng.random() < 0.3:
            return self.plain()
        made = dict(self.rng.choice([*SILENT, *IMPLYING, {"type": self.rng.sample(TYPES, 3)}]))
        for kind in self.rng.sample(["$ref", "allOf", "anyOf", "oneOf"], self.rng.randint(1, 2)):
            if kind == "$ref":
                made |= self.reference()
            else:
                made[kind] = [self.schema(depth - 1) for _ in range(self.rng.randint(1, 3))]
        return {**made, "nullable": True} if self.rng.random() < 0.15 else made


def _zod(b: Any, **first: Any) -> dict[str, Any]:
    whole = {
        "type": "object",
        "properties": {"a": first or {"type": "string"}, "p": b},
        "required": ["a", "p"],
    }
    return {**whole, "additionalProperties": False, "$schema": "http://json-schema.org/draft-07/schema#"}


_STRING_OR_NULL = {"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]}
_PET = {"type": "object", "properties": {"name": {"type": "string"}}}

#: What libraries write: the parameters, and the types of p.
WRITTEN: dict[str, tuple[dict[str, Any], str]] = {
    # zod-to-json-schema: a schema that is used twice refers to its first place
    "zod 3 union": (_zod({"$ref": "#/properties/a/anyOf/0"}, **_STRING_OR_NULL), "string"),
    "zod 3 null": (_zod({"$ref": "#/properties/a/anyOf/1"}, **_STRING_OR_NULL), "null"),
    "zod 3 again": (_zod({"$ref": "#/properties/a"}), "string"),
    "zod 3 items": (
        _zod({"$ref": "#/properties/a/items"}, type="array", items={"type": "integer"}),
        "integer",
    ),
    "zod 3 tuple": (
        _zod({"$ref": "#/properties/a/items/1"}, type="array", items=[{"type": "string"}, {"type": "boolean"}]),
        "boolean",
    ),
    "zod 3 intersection": (
        _zod({"$ref": "#/properties/a/allOf/1"}, allOf=[{"type": "object"}, _PET]),
        "object",
    ),
    "zod 3 record": (
        _zod({"$ref": "#/properties/a/additionalProperties"}, additionalProperties={"type": "number"}),
        "number",
    ),
    "zod 3 nullable": (_zod({"type": ["integer", "null"]}), "integer null"),
    "zod 3 for OpenAPI": (_zod({"allOf": [{"$ref": "#/properties/a"}], "nullable": True}), "string null"),
    "zod 3 named": (
        {"$ref": "#/definitions/Args", "definitions": {"Args": _zod({"$ref": "#/definitions/N"}), "N": {"type": "integer"}}},
        "integer",
    ),
    "zod 3 lazy": (
        _zod({"type": "array", "items": {"$ref": "#/properties/p"}}),
        "array",
    ),
    "zod 3 key with a blank": (
        {
            "type": "object",
            "properties": {"first name": {"type": "integer"}, "p": {"$ref": "#/properties/first name"}},
        },
        "integer",
    ),
    # zod 4: z.toJSONSchema
    "zod 4 named": ({**_zod({"$ref": "#/$defs/Pet"}), "$defs": {"Pet": {"id": "Pet", **_PET}}}, "object"),
    "zod 4 reused": ({**_zod({"$ref": "#/$defs/__schema0"}), "$defs": {"__schema0": {"type": "string"}}}, "string"),
    "zod 4 self": (_zod({"anyOf": [{"$ref": "#"}, {"type": "null"}]}), "object null"),
    "zod 4 int": (
        _zod({"type": "integer", "minimum": -9007199254740991, "maximum": 9007199254740991}),
        "integer",
    ),
    "zod 4 literals": (_zod({"anyOf": [{"const": 1, "type": "number"}, {"const": "a", "type": "string"}]}), "integer string"),
    "zod 4 id": ({**_zod({"$ref": "N"}), "$defs": {"N": {"$id": "N", "type": "integer"}}}, "integer"),
    # pydantic
    "pydantic model": ({**_zod({"$ref": "#/$defs/Pet"}), "$defs": {"Pet": _PET}}, "object"),
    "pydantic with a default": (
        {**_zod({"allOf": [{"$ref": "#/$defs/Kind"}], "default": 1}), "$defs": {"Kind": {"enum": [1, 2]}}},
        "integer",
    ),
    "pydantic optional": (_zod({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}), "integer null"),
    "pydantic optional enum": (
        {
            **_zod({"anyOf": [{"$ref": "#/$defs/Kind"}, {"type": "null"}]}),
            "$defs": {"Kind": {"enum": ["a", "b"], "title": "Kind", "type": "string"}},
        },
        "string null",
    ),
    "pydantic decimal": (_zod({"anyOf": [{"type": "number"}, {"type": "string", "pattern": "^[0-9.]+$"}]}), "number string"),
    "pydantic generic": ({**_zod({"$ref": "#/$defs/Page_int_"}), "$defs": {"Page_int_": {"items": {}, "type": "array"}}}, "array"),
    "pydantic any": (_zod({"title": "P"}), "any"),
    "pydantic union of models": (
        {
            **_zod(
                {
                    "discriminator": {"mapping": {"a": "#/$defs/Pet"}, "propertyName": "name"},
                    "oneOf": [{"$ref": "#/$defs/Pet"}, {"$ref": "#/$defs/Pet"}],
                }
            ),
            "$defs": {"Pet": _PET},
        },
        "object",
    ),
    "pydantic root model": (
        {"$ref": "#/$defs/Args", "$defs": {"Args": _zod({"type": "integer"})}},
        "integer",
    ),
    # OpenAPI 3.0 and 3.1
    "OpenAPI component": (
        {**_zod({"$ref": "#/components/schemas/Pet"}), "components": {"schemas": {"Pet": _PET}}},
        "object",
    ),
    "OpenAPI nullable component": (
        {
            **_zod({"nullable": True, "allOf": [{"$ref": "#/components/schemas/Id"}]}),
            "components": {"schemas": {"Id": {"type": "integer", "format": "int64"}}},
        },
        "integer null",
    ),
    "OpenAPI nullable": (_zod({"type": "string", "nullable": True}), "string null"),
    "OpenAPI nullable enum": (_zod({"type": "string", "enum": ["a"], "nullable": True}), "string null"),
    "OpenAPI path": (
        {
            **_zod({"$ref": "#/paths/~1pets~1%7Bid%7D/get/parameters/0/schema"}),
            "paths": {"/pets/{id}": {"get": {"parameters": [{"schema": {"type": "integer"}}]}}},
        },
        "integer",
    ),
    "OpenAPI component named default": (
        {
            **_zod({"$ref": "#/components/schemas/default"}),
            "components": {"schemas": {"default": {"$ref": "#/components/schemas/N"}, "N": {"type": "integer"}}},
        },
        "integer",
    ),
    # JSON Schema itself
    "anchor": ({**_zod({"$ref": "#int"}), "$defs": {"i": {"$anchor": "int", "type": "integer"}}}, "integer"),
    "deep anchor": ({**_zod({"$ref": "#int"}, items={"$anchor": "int", "type": "integer"})}, "integer"),
    "old anchor": ({**_zod({"$ref": "#int"}), "definitions": {"i": {"$id": "#int", "type": "integer"}}}, "integer"),
    "id": ({**_zod({"$ref": "/schemas/n"}), "$id": "https://a.com/b/c", "$defs": {"n": {"$id": "/schemas/n", "type": "integer"}}}, "integer"),
    "inside an id": (
        {
            **_zod({"$ref": "part"}),
            "$defs": {
                "n": {"type": "string"},
                "part": {"$id": "part", "$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}},
            },
        },
        "integer",
    ),
    "tilde": ({**_zod({"$ref": "#/$defs/a~1b~0c"}), "$defs": {"a/b~c": {"type": "integer"}}}, "integer"),
    "percent": ({**_zod({"$ref": "#/$defs/a%25b%20c"}), "$defs": {"a%b c": {"type": "integer"}}}, "integer"),
    "percent before tilde": ({**_zod({"$ref": "#/$defs/a%7E1b"}), "$defs": {"a/b": {"type": "integer"}}}, "integer"),
    "chain": (
        {
            **_zod({"$ref": "#/$defs/0"}),
            "$defs": {**{str(i): {"$ref": f"#/$defs/{i + 1}"} for i in range(40)}, "40": {"type": "integer"}},
        },
        "integer",
    ),
    "beside a reference": ({**_zod({"$ref": "#/$defs/n", "type": "integer"}), "$defs": {"n": {"type": ["integer", "string"]}}}, "integer"),
    "implied union": (_zod({"anyOf": [{"pattern": "^a"}, {"format": "date"}, {"maxLength": 3}]}), "string"),
    "implied bound": (_zod({"maximum": 5}), "number"),
    "implied list": (_zod({"minItems": 1}), "array"),
    "implied object": (_zod({"required": ["a"]}), "object"),
    "two kinds of keywords": (_zod({"minLength": 1, "minimum": 1}), "any"),
    "format of a number": (_zod({"format": "int32"}), "any"),
    "keyword beside a union": (_zod({"minLength": 1, "anyOf": [{"pattern": "a"}, {"type": "null"}]}), "string null"),
    "same key in two parts": (
        {
            "allOf": [
                _zod({"type": ["integer", "string"]}),
                {"properties": {"p": {"type": "string"}}},
            ]
        },
        "string",
    ),
}  # fmt: skip

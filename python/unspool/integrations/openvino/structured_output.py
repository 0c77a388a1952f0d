"""A grammar as OpenVINO GenAI takes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from openvino_genai import StructuredOutputConfig

from unspool.errors import ArgumentError

__all__ = ["structured_output"]


def structured_output(grammar: str | Mapping[str, Any]) -> StructuredOutputConfig:
    """The `structured_output_config` of a request whose answer must keep to a grammar.

    Under a grammar a model may spell markers such as `<tool_call>` in ordinary tokens, not as the one token.
    `pipeline` and `ContinuousBatching` therefore read such an answer with `trust="either"`; pass that to a
    `DeltaStreamer`.

    Args:
        grammar: xgrammar's EBNF (`root ::= ...`), or its structural tag, as a dict: with or without the outer
            `{"type": "structural_tag", "format": ...}`.

    Raises:
        ArgumentError: It is neither.
    """
    if isinstance(grammar, Mapping):
        tag = dict(grammar)
        if tag.get("type") != "structural_tag":
            tag = {"type": "structural_tag", "format": tag}
        try:
            return StructuredOutputConfig(structural_tags_config=json.dumps(tag))
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"the structural tag is no JSON: {error}") from None
    if not isinstance(grammar, str) or "::=" not in grammar:
        raise ArgumentError(
            f"grammar is {str(grammar)[:40]!r}; pass EBNF with a rule 'root ::= ...', or a structural tag as a dict"
        )
    return StructuredOutputConfig(grammar=grammar)

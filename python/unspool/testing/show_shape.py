"""Prints the shape of a format: what its patterns mean, part by part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from unspool._core import Edge, FormatSource, FormShape, Hole, ParameterShape, Repeat, TextShape

__all__ = ["shape_of"]


def shape_of(file: FormatSource) -> list[str]:
    """Return the output of `unspool check --shape`: a line for each part, in the order in which a model writes them."""
    return [f"{name:12}{text}" for name, text in _parts(file)]


def _parts(file: FormatSource) -> Iterator[tuple[str, str]]:
    shape = file.shape
    yield from (("turn", repr(turn)) for turn in shape.turn)
    if shape.header:
        yield "header", f"{_shown([shape.header.open])} … {_shown([shape.header.close])}"
    yield from (("reasoning", _text(reasoning)) for reasoning in shape.reasoning)
    yield from (("content", _text(content)) for content in shape.contents)
    for form in shape.forms:
        yield from _form(form)
    if any(form.call.body == "json_call" for form in shape.forms):
        yield from (("object", _shown(object.items)) for object in shape.objects)
    if shape.quote:
        yield "string", _text(shape.quote)
    yield from (("id", _shown(id.items)) for id in shape.ids)


def _form(form: FormShape) -> Iterator[tuple[str, str]]:
    call = form.call
    facts = [call.body]
    facts += ["bare"] if form.is_bare else []
    facts += ["a list"] if call.list_open else []
    facts += [f"called by a header after {form.recipient!r}"] if form.recipient else []
    yield "call", ", ".join(facts)
    if form.section:
        yield "  section", _text(form.section)
    edges = [edge for edge in (call.author, call.open, call.list_open) if edge]
    yield "  open", _shown(edges)
    yield "  inside", _shown(call.inside)
    if call.separator:
        yield "  separator", _shown([call.separator])
    yield "  close", _shown([edge for edge in (call.list_close, call.close) if edge])
    if call.joiner:
        yield "  joiner", repr(call.joiner)
    yield from (("  parameter", _parameter(parameter)) for parameter in form.parameters)


def _parameter(parameter: ParameterShape) -> str:
    names = ("is_element", "is_verbatim", "is_json", "is_python", "has_entities", "key_has_entities")
    facts = [name.removeprefix("is_").replace("_", " ") for name in names if getattr(parameter, name)]
    facts += [f"{parameter.value_space!r} around the value is markup"] if parameter.value_space else []
    return "; ".join([_shown(parameter.items), *facts])


def _text(text: TextShape) -> str:
    author = [text.author] if text.author else []
    return f"{_shown([*author, text.open])} … {_shown([text.close])}"


def _shown(items: Iterable[Edge | Hole | Repeat]) -> str:
    return " ".join(_item(item) for item in items if not isinstance(item, Edge) or item.literal) or "nothing"


def _item(item: Edge | Hole | Repeat) -> str:
    if isinstance(item, Edge):
        return repr(item.literal)
    if isinstance(item, Hole):
        return "${" + ":".join([item.kind, *([",".join(item.options)] if item.options else [])]) + "}"
    return f"({_shown(item.items)} …, {item.separator.literal!r} between)"

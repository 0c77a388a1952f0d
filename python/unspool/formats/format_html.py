"""HTML of a format for notebooks: its models, how it is parsed, and a sample in colours."""

from __future__ import annotations

from unspool._core import FormatSource, TokenStreamer
from unspool.core.stream.message_html import box, escape, regions_html, table
from unspool.core.stream.stream_recipe import make_recipe, recipe_options, with_defaults
from unspool.formats.explain_format import sample_of

__all__ = ["format_html"]


def format_html(file: FormatSource) -> str:
    """Return the HTML of a format."""
    rows = [
        (label, escape(", ".join(texts)))
        for label, texts in (("models", file.models), ("other names", file.aliases))
        if texts
    ]
    sentences = "".join(f"{escape(sentence)}<br>" for sentence in file.sentences)
    rows.append(("read as", sentences))
    recipe, _ = make_recipe(file, recipe_options(with_defaults({"audit": True})))
    stream = TokenStreamer(recipe)
    stream.parse_chunk(sample_of(file), None, "stop")
    return box(f"<b>{escape(file.name)}</b>{table(rows)}{regions_html(stream._audit(), 'a sample')}")

"""A format's file: TOML that says what a model writes, with holes. The core reads and checks it."""

from __future__ import annotations

import functools
import json
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unspool._core import read_format_file
from unspool.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from unspool._core import ToolSchemas
    from unspool.format_facts import FormatFacts
    from unspool.grammar.result import Grammar, Syntax
    from unspool.message import Message

__all__ = ["FormatFile", "parse_format", "read_format", "read_text"]

#: The keys whose values are patterns.
PATTERN_KEYS = (
    "turn", "reasoning", "content", "calls", "call", "parameter", "object", "string", "header", "id", "end",
)  # fmt: skip


@dataclass(frozen=True)
class FormatFile:
    """One format as its file says it.

    Attributes:
        patterns: What the model writes, with holes: the alternatives of each key.
        examples: Inputs with what they parse to.
        example_lines: The line of each example in the file.
        detect: What shows that a model writes it; `unspool.detect` reads it.
    """

    name: str
    models: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    notes: str = ""
    examples: tuple[dict[str, Any], ...] = ()
    patterns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    detect: dict[str, Any] = field(default_factory=dict)
    source: str = field(default="", compare=False)
    example_lines: tuple[int, ...] = field(default=(), compare=False)

    @property
    def has_tools(self) -> bool:
        """Whether it says how calls are written."""
        return "call" in self.patterns

    @property
    def has_reasoning(self) -> bool:
        """Whether it says how reasoning is written."""
        return "reasoning" in self.patterns

    @property
    def is_plain(self) -> bool:
        """Whether everything is content."""
        return not self.has_tools and not self.has_reasoning

    @functools.cached_property
    def facts(self) -> FormatFacts:
        """What the parser understands of the patterns.

        Raises:
            FormatError: They cannot be compiled.
        """
        from unspool.format_facts import FormatFacts  # few need it; the package's import stays light

        return FormatFacts.read(self.to_core())

    def with_reasoning(self, other: FormatFile | None) -> FormatFile:
        """The format with another one's reasoning in place of its own; None: with none."""
        patterns = {key: value for key, value in self.patterns.items() if key != "reasoning"}
        if other is not None and other.has_reasoning:
            patterns["reasoning"] = other.patterns["reasoning"]
        return replace(self, patterns=patterns)

    def to_core(self) -> dict[str, Any]:
        """The patterns as the core takes them, the name among them."""
        return {"name": self.name, **self.patterns}

    def grammar(
        self,
        tools: Iterable[Any] = (),
        *,
        tool_choice: str = "auto",
        response_schema: Mapping[str, Any] | None = None,
        parallel: bool = True,
        reasoning: bool | None = None,
        prompt: str | None = None,
        strict: bool | None = None,
        syntax: Syntax = "lark",
        tokenizer: Any = None,
    ) -> Grammar:
        """The grammar that makes a model write this format: an engine masks every token that does not fit.

        What it admits is parsed to complete calls, whose arguments are valid under the tools' schemas.

        Args:
            tools: The request's tools, as the API holds them.
            tool_choice: "auto": text is free, and a call is constrained from its opener on. "required": calls
                and nothing else follow the reasoning. Or the name of the tool that must be called. "none": no
                calls.
            response_schema: The JSON Schema of the content; then an answer is one such JSON value or, if calls are
                allowed, calls. None: content is free text.
            parallel: Whether there may be several calls.
            reasoning: False: the grammar begins after the reasoning, for an engine that applies it there. None
                or True: the reasoning is part of it; if the prompt has opened it, the answer begins inside it.
            prompt: The end of what the model is given; None: it ends as the format's own turn does.
            strict: Whether arguments follow the schemas; False: they are any JSON object. None: as each tool's
                own `strict` says, and True for a tool that does not say it.
            syntax: The engine's language: "lark" for llguidance, which xgrammar reads too.
            tokenizer: A tokenizer or `Vocabulary`: markers that it holds as tokens are written as tokens.

        Raises:
            FormatError: Calls are asked for, and the format has none.
            ArgumentError: There is neither a tool nor `response_schema`, a tool's name or parameter cannot be
                written in this format, `tool_choice` names no tool, or another argument is none of its choices.
        """
        from unspool.grammar.make_grammar import make_grammar  # few need it; the package's import stays light

        return make_grammar(
            self, tools, tool_choice=tool_choice, response_schema=response_schema, parallel=parallel,
            reasoning=reasoning, prompt=prompt, strict=strict, syntax=syntax, tokenizer=tokenizer,
        )  # fmt: skip

    def render(
        self,
        message: Message | Mapping[str, Any],
        *,
        tools: Iterable[Any] | ToolSchemas | None = None,
        continues: bool = False,
        exact: bool = True,
    ) -> str:
        """The text that the model writes for a message, without the token that ends the answer.

        The text is read back before it is returned, and the same message comes out of it. Of alternatives in the
        file the first that is read back is taken.

        Args:
            message: A parsed `Message`, or an assistant's message as OpenAI's API has it: `content`,
                `reasoning_content` or `reasoning`, and `tool_calls` with arguments as JSON text or as a dict. An id is
                written where the format writes ids. If it has another shape than they have, one is made.
            tools: The request's tools. Formats that write values as bare text need them to know `3` from `"3"`.
            continues: Whether the text goes on where the format's own turn ends. If the turn opens the reasoning, the
                text then begins inside it. False: the opener is a part of the text.
            exact: Whether content and reasoning must come back with the white space at their ends. A pattern's own
                white space is next to it, so many formats cannot keep it.

        Raises:
            ArgumentError: The format cannot write the message; the error names the part and how it is read. Or the
                argument is no such message.
        """
        from unspool.render.render import render_text  # few need it; the package's import stays light

        return render_text(self, message, tools=tools, continues=continues, exact=exact)

    def render_ids(
        self,
        message: Message | Mapping[str, Any],
        vocabulary: Any,
        encode: Callable[[str], Sequence[int]],
        *,
        tools: Iterable[Any] | ToolSchemas | None = None,
        continues: bool = False,
        exact: bool = True,
    ) -> list[int]:
        """The token ids that the model writes for a message. Text in it never becomes a marker.

        A marker that the vocabulary has as a token is written by its id. A text that spells one is encoded in two
        parts, so it stays text. The ids are read back before they are returned.

        Args:
            vocabulary: A tokenizer or `Vocabulary`.
            encode: Text to ids, without tokens at the beginning or end, such as
                `lambda text: tokenizer.encode(text, add_special_tokens=False)`.
            message, tools, continues, exact: As of `render`.

        Raises:
            ArgumentError: As of `render`, or `encode` makes a special token of text.
            VocabularyError: The tokenizer cannot be compiled.
        """
        from unspool.render.render import render_ids  # few need it; the package's import stays light

        return render_ids(
            self, message, vocabulary, encode, tools=tools, continues=continues, exact=exact
        )  # fmt: skip


def read_format(path: str | os.PathLike[str]) -> FormatFile:
    """Read one format file.

    Raises:
        FormatError: The file is not TOML, or not a format; the message names line and column.
    """
    return parse_format(read_text(path), source=Path(path).name)


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a format file. Raises FormatError if it is not UTF-8."""
    file = Path(path)
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{file.name}: not UTF-8: {error}") from None


def parse_format(text: str, source: str = "<format>") -> FormatFile:
    """Read one format from its text."""
    read = json.loads(read_format_file(text, source))
    data = read["file"]
    return FormatFile(
        name=data["name"],
        models=tuple(data.get("models", ())),
        aliases=tuple(data.get("aliases", ())),
        notes=data.get("notes", "").strip(),
        examples=tuple(data.get("example", ())),
        patterns={key: tuple(_as_list(data[key])) for key in PATTERN_KEYS if key in data},
        detect=data.get("detect", {}),
        source=source,
        example_lines=tuple(read["example_lines"]),
    )


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]

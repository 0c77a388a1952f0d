"""`FormatFile`, a format with its methods, and the registry of formats by name."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any, NoReturn

from unspool._core import Format, FormatSource
from unspool.core.format.registry import add_source, find_source, sources
from unspool.core.wrong_call import unknown_option
from unspool.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from unspool._core import ToolSchemas
    from unspool.core.stream.message import Message
    from unspool.writing.grammar_result import Grammar, Syntax, WhiteSpace

__all__ = ["FormatFile", "formats", "get_format", "read_format", "read_text", "register_format"]


class FormatFile(FormatSource):
    """A format, as its file defines it.

    `FormatFile(text, source)` reads TOML text, and `FormatFile(name=…, patterns=…)` compiles patterns.

    Attributes:
        patterns: The alternatives of each key: text as the model writes it, with holes.
        examples: Inputs with the expected results.
        example_lines: The line of each example in the file.
        detect: The rules that `unspool.detect` uses to recognize a model of this format.
    """

    def _repr_html_(self) -> str:
        from unspool.formats.format_html import format_html  # imported here because a notebook asks for it

        return format_html(self)

    def grammar(
        self,
        tools: Iterable[Any] = (),
        *,
        tool_choice: str = "auto",
        response_schema: Mapping[str, Any] | None = None,
        choice: Sequence[str] | None = None,
        regex: str | None = None,
        response_grammar: str | None = None,
        parallel: bool = True,
        reasoning: bool | None = None,
        prompt: str | None = None,
        strict: bool | None = None,
        syntax: Syntax = "lark",
        tokenizer: Any = None,
        white_space: WhiteSpace = "bounded",
        any_order: bool = False,
        **unknown: NoReturn,
    ) -> Grammar:
        """Build a grammar that constrains a model to this format, for an engine that masks tokens that do not fit.

        Every output that the grammar accepts parses to complete calls with arguments that are valid under the
        tools' schemas.

        Args:
            tools: The request's tools, as the API sends them.
            tool_choice: "auto": text is free, and a call is constrained from its opener on. "required": only
                calls follow the reasoning. "none": no calls. Or the name of the tool that must be called.
            response_schema: The JSON Schema of the content. An answer is then one such JSON value or, if
                calls are allowed, calls. None: content is free text.
            choice: The content must be one of these texts. White space at both ends may be parsed as markup.
            regex: The whole content must match this regular expression, in the syntax of JSON Schema's patterns.
            response_grammar: The content must match this grammar, in Lark (from the rule `start`) or in GBNF (from
                `root`). White space at both ends of the content may be parsed as markup.
            parallel: Whether several calls are allowed.
            reasoning: False: the grammar begins after the reasoning, for engines that apply it there. None
                or True: it includes the reasoning; if the prompt has opened it, the answer begins inside it.
            prompt: The end of the prompt. None: the prompt ends as the format's own turn does.
            strict: Whether arguments follow the schemas; False: any JSON object. None: each tool's own
                `strict` decides; True if the tool has none.
            syntax: The engine's grammar language: "lark" for llguidance; xgrammar reads it too.
            tokenizer: A tokenizer or `Vocabulary`. Markers that are tokens of it are written as tokens.
            white_space: White space in objects and lists. "bounded": at most 40 spaces and line breaks in one place.
                "compact": only a space after a comma or a colon. "any": no limit.
            any_order: Whether the arguments of a call, and the keys of an object, may come in any order if there are at
                most 6. False: they come in the order of the schema.

        Raises:
            FormatError: Calls are required, and the format has none.
            ArgumentError: There is neither a tool nor a constraint on the content, this format cannot write the name of
                a tool or parameter, the content may contain a marker of the format or begin as a call does,
                `tool_choice` is not the name of a tool, or another argument has an invalid value.
        """
        if unknown:
            raise unknown_option("FormatFile.grammar", min(unknown), FormatFile.grammar.__kwdefaults__ or ())
        from unspool.writing.grammar.make_grammar import make_grammar  # imported here because few need it
        from unspool.writing.grammar.response import Response

        response = Response.of(response_schema, choice, regex, response_grammar)
        return make_grammar(
            self, tools, tool_choice=tool_choice, response=response, parallel=parallel,
            reasoning=reasoning, prompt=prompt, strict=strict, syntax=syntax, tokenizer=tokenizer,
            white_space=white_space, any_order=any_order,
        )  # fmt: skip

    def render(
        self,
        message: Message | Mapping[str, Any],
        *,
        tools: Iterable[Any] | ToolSchemas | None = None,
        continues: bool = False,
        exact: bool = True,
    ) -> str:
        """Return the text that the model writes for a message, without the token that ends the answer.

        The text is parsed before it is returned and must yield the same message. The first alternative in the
        file that does so is used.

        Args:
            message: A parsed `Message`, or an assistant message of OpenAI's API: `content`,
                `reasoning_content` or `reasoning`, and `tool_calls` with arguments as JSON text or as a dict.
                Ids are written if the format has them; an id that does not fit the format's style is
                replaced.
            tools: The request's tools. Formats that write values as bare text need them to distinguish `3` from
                `"3"`.
            continues: Whether the text continues after the format's own turn. If the turn opens the
                reasoning, the text then begins inside it. False: the text includes the opener.
            exact: Whether content and reasoning must keep the white space at both ends. Patterns often have
                white space of their own there, so many formats cannot keep it.

        Raises:
            ArgumentError: The format cannot write the message, and the error names the part and how it is
                parsed; or `message` is not a message.
        """
        from unspool.writing.render.render import render_text  # imported here because few callers need it

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
        """Return the token ids that the model writes for a message. Text in it never becomes a marker.

        A marker that is a token of the vocabulary is written as its id. Text that spells a marker is encoded
        in two parts, so it stays text. The ids are parsed before they are returned.

        Args:
            vocabulary: A tokenizer or `Vocabulary`.
            encode: A function that encodes text without adding tokens at its beginning or end, such as
                `lambda text: tokenizer.encode(text, add_special_tokens=False)`.
            message, tools, continues, exact: See `render`.

        Raises:
            ArgumentError: As in `render`; also if `encode` turns text into a special token.
            VocabularyError: The tokenizer cannot be compiled.
        """
        from unspool.writing.render.render import render_ids  # imported here because few callers need it

        return render_ids(self, message, vocabulary, encode, tools=tools, continues=continues, exact=exact)


@functools.cache
def _file_of(source: FormatSource) -> FormatFile:
    return source if isinstance(source, FormatFile) else FormatFile(source)


def formats() -> tuple[FormatFile, ...]:
    """All formats, shipped and registered, sorted by name."""
    return tuple(map(_file_of, sources()))


def get_format(name: str) -> FormatFile:
    """Return the format with this name or alias, or the one that `detect` finds for this name of a model.

    Upper and lower case are equal, and `-`, `_` and `.` are ignored.

    Raises:
        UnknownFormatError: There is no such format; the message suggests the nearest names.
    """
    return _file_of(find_source(name))


def register_format(path: str | os.PathLike[str]) -> FormatFile:
    """Register a format file of your own, for this process.

    Raises:
        FormatError: The file cannot be compiled, or its name or an alias is taken.
    """
    file = read_format(path)
    Format(file)  # raises if its markers take too much memory
    add_source(file)
    return file


def read_format(path: str | os.PathLike[str]) -> FormatFile:
    """Read a format file.

    Raises:
        FormatError: The file is not valid TOML or not a valid format; the message has line and column.
    """
    return FormatFile(read_text(path), str(path))


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a format file. Raises FormatError if it is not UTF-8."""
    from pathlib import Path  # not before: importing unspool stays light

    file = Path(path)
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: not UTF-8: {error}") from None

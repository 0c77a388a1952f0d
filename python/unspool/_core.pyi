"""Types and documentation of the native module."""

import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from types import NotImplementedType
from typing import Any, Literal, SupportsIndex, final, overload

from typing_extensions import Self

from unspool.core.stream.labels import Labels
from unspool.core.stream.message import Message

__version__: str

HeldReason = Literal[
    "none",
    "character",
    "marker",
    "space",
    "header",
    "call",
    "name",
    "key",
    "value",
    "separator",
    "closing_tag",
    "ids",
]

PATTERN_KEYS: tuple[str, ...]
"""The keys of a format file whose values are patterns."""

def format_words() -> str:
    """Return every word of the format notation with its meaning, as JSON."""

def sign_thought(text: str) -> str:
    """Return the signature that the protocols send after reasoning: 24 characters of valid Base64.

    If the text changes in more than white space, its signature no longer matches. It does not prove who wrote the text.
    """

def _key_of(value: Any) -> bytes | None: ...
def _find_key(entries: tuple[tuple[Any, ...], ...], value: Any) -> int: ...
def _stream_options() -> list[tuple[str, Any, tuple[str, ...], str]]: ...
def _compile_template(json: str, name: str, tokens: Sequence[tuple[int, str]]) -> Format: ...
def _bind_template(format: Format, tokens: Sequence[tuple[int, str]]) -> Format: ...
def _is_template(format: Format) -> bool: ...
def _find_pattern(pattern: str, pieces: Sequence[str]) -> tuple[int, int, dict[str, str]] | None: ...

@final
class Edge:
    """A literal text between two holes of a pattern. See csrc/format/edge.h.

    The white space beside a tag is optional: a model may omit it. The white space beside a word is required.
    """

    def __init__(self, literal: str = "") -> None: ...
    @property
    def literal(self) -> str:
        """The whole literal, as written in the pattern."""

    @property
    def before(self) -> str:
        """The white space before the text; empty if the literal is blank: `after` then holds all of it."""

    @property
    def text(self) -> str:
        """The literal without the white space around it."""

    @property
    def after(self) -> str:
        """The white space after the text."""

    @property
    def rest(self) -> Edge:
        """The literal without the white space before its text."""

    @property
    def sign(self) -> str:
        """The first letter of the text; empty if there is none."""

    @property
    def tags(self) -> tuple[str, ...]:
        """The text, split at the line breaks between two tags."""

    @property
    def line_breaks(self) -> int:
        """The number of line breaks that the literal begins with."""

    @property
    def is_blank(self) -> bool:
        """Whether it is only white space."""

    @property
    def is_fence(self) -> bool:
        """Whether it is the fence of a code block."""

    @property
    def begins_line(self) -> bool:
        """Whether it begins with a line break."""

    @property
    def begins_tag(self) -> bool:
        """Whether its text begins with a tag."""

    @property
    def ends_tag(self) -> bool:
        """Whether its text ends with a tag."""

    def without(self, prefix: str) -> Edge:
        """Return the literal without this prefix; unchanged if it does not begin with it."""

    def after_any(self, written: Sequence[str]) -> Edge:
        """Return the rest of the literal after the longest beginning of it that one of these texts ends with."""

    def is_begun_by(self, written: str) -> bool:
        """Whether the written text and this closer have the same beginning, of more than one tag."""

@final
class Hole:
    """A placeholder in a pattern: `${value:xml,python}` has the kind "value" and two options."""

    @property
    def kind(self) -> str:
        """The word before the colon, such as "name", "arguments" or "value"."""

    @property
    def options(self) -> tuple[str, ...]:
        """The words after the colon."""

    @property
    def number(self) -> int | None:
        """The number among the options: a length, or a first index."""

@final
class Repeat:
    """A part of a pattern that may occur any number of times, with a separator between the occurrences."""

    @property
    def items(self) -> tuple[_Item, ...]:
        """The parts of one occurrence."""

    @property
    def separator(self) -> Edge:
        """The text between two occurrences."""

_Item = Edge | Hole | Repeat

@final
class SkippedText:
    """What models write where a pattern has a hole `${_}` beside a text. The parser skips any text there."""

    @property
    def letters(self) -> tuple[tuple[str, str], ...]:
        """The ranges of its letters: first and last."""

    @property
    def most(self) -> int:
        """The maximum number of letters. The text may be missing."""

@final
class TextShape:
    """Markup around a text. See csrc/format/shape.h for this class and those below."""

    @property
    def author(self) -> Edge | None:
        """The text before the name of the message's author, which `open` follows."""

    @property
    def author_name(self) -> SkippedText | None:
        """The name between `author` and `open`; None without an author."""

    @property
    def open(self) -> Edge:
        """The markup before the text."""

    @property
    def close(self) -> Edge:
        """The markup after the text."""

    @property
    def note(self) -> SkippedText | None:
        """A note between `close` and `note_close`; None if there are no notes."""

    @property
    def note_close(self) -> Edge | None:
        """The markup that ends a note after `close`; None if there are no notes."""

    @property
    def is_inline(self) -> bool:
        """Whether content continues before and after the markup."""

    @property
    def is_opened_by_turn(self) -> bool:
        """Whether the format's own turn ends with `open`."""

@final
class ParameterShape:
    """One way to write a parameter between tags, such as `<parameter=city>Paris</parameter>`."""

    @property
    def items(self) -> tuple[_Item, ...]:
        """The parts of the parameter, in order."""

    @property
    def open(self) -> Edge:
        """The markup before the key."""

    @property
    def after_key(self) -> Edge:
        """The first markup after the key."""

    @property
    def close(self) -> Edge:
        """The markup after the value."""

    @property
    def last(self) -> Edge:
        """The markup after the last hole."""

    @property
    def between(self) -> tuple[tuple[str, ...], ...]:
        """The tags after the key, and those after the type, without the markup around the value."""

    @property
    def key_stop(self) -> str:
        """The character that a key cannot contain."""

    @property
    def value_space(self) -> str:
        """The markup at both sides of the value: a line break, a space or nothing."""

    @property
    def has_type(self) -> bool:
        """Whether the parameter also states the type of its value."""

    @property
    def is_element(self) -> bool:
        """Whether the key is the name of a tag, as in `<city>Paris</city>`."""

    @property
    def is_verbatim(self) -> bool:
        """Whether this way is for strings, written without quotes or escapes."""

    @property
    def is_json(self) -> bool:
        """Whether this way is for values that are not strings, written as JSON."""

    @property
    def is_python(self) -> bool:
        """Whether the value is a Python literal."""

    @property
    def has_entities(self) -> bool:
        """Whether the value has character references, as in XML."""

    @property
    def key_has_entities(self) -> bool:
        """Whether the key has character references."""

@final
class ObjectShape:
    """The JSON object of a call, such as `{"name": ${name}, "arguments": ${arguments}}`."""

    @property
    def items(self) -> tuple[_Item, ...]:
        """The parts of the object, in order."""

    @property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """(key, kind of its hole) for each key of the object."""

    @property
    def name_is_key(self) -> bool:
        """Whether the tool's name is the only key: `{${name}: ${arguments}}`."""

@final
class IdShape:
    """A call's id, such as `functions.${name}:${index}`."""

    @property
    def items(self) -> tuple[Edge | Hole, ...]:
        """The parts of the id, in order."""

@final
class CallShape:
    """One way to write a call."""

    @property
    def author(self) -> Edge | None:
        """The text before the name of the message's author, which `open` follows."""

    @property
    def open(self) -> Edge:
        """The markup before the call, without the bracket of a list."""

    @property
    def close(self) -> Edge:
        """The markup after the call, without the bracket of a list."""

    @property
    def list_open(self) -> Edge | None:
        """The opening bracket of a list of calls, with the white space beside it."""

    @property
    def list_close(self) -> Edge | None:
        """The closing bracket of a list of calls."""

    @property
    def inside(self) -> tuple[_Item, ...]:
        """The parts of one call."""

    @property
    def separator(self) -> Edge | None:
        """The text between two calls in one body; None if a body has only one call."""

    @property
    def shortest_close(self) -> Edge:
        """The shortest closer among the alternatives that differ only in their end."""

    @property
    def joiner(self) -> str:
        """The text between two calls: the longest of these alternatives has it after the shortest closer."""

    @property
    def name_stop(self) -> str:
        """The character that ends the tool's name; empty if the call has no name."""

    @property
    def value_space(self) -> str:
        """The markup at both sides of a value without a key."""

    @property
    def holds_id(self) -> bool:
        """Whether the id comes before the arguments."""

    @property
    def body(self) -> str:
        """The kind of the body, such as "json_call"."""

@final
class FormShape:
    """One way to write calls, as a model uses it."""

    @property
    def call(self) -> CallShape:
        """The call."""

    @property
    def section(self) -> TextShape | None:
        """The markup around all calls, if any."""

    @property
    def parameters(self) -> tuple[ParameterShape, ...]:
        """The ways to write a parameter; empty if the arguments are one value."""

    @property
    def recipient(self) -> str | None:
        """The text before the tool's name in a header of its own; None if these calls have no such header."""

    @property
    def is_bare(self) -> bool:
        """Whether nothing opens the calls."""

@final
class HeaderShape:
    """The header of a message."""

    @property
    def open(self) -> Edge:
        """The markup before the header."""

    @property
    def close(self) -> Edge:
        """The markup after the header."""

@final
class FreeTextWords:
    """The words that a grammar must exclude from free text, because the parser looks for them."""

    @property
    def content(self) -> tuple[str, ...]:
        """The words that the parser looks for in content."""

    @property
    def value(self) -> tuple[str, ...]:
        """The words of `content`, and those that the parser looks for in a tagged value."""

@final
class Shape:
    """The meaning of a format's patterns, as the parts that a model writes."""

    @property
    def turn(self) -> tuple[str, ...]:
        """The ways in which an assistant's turn begins."""

    @property
    def reasoning(self) -> tuple[TextShape, ...]:
        """The ways to write reasoning."""

    @property
    def contents(self) -> tuple[TextShape, ...]:
        """The ways to write content."""

    @property
    def forms(self) -> tuple[FormShape, ...]:
        """The ways to write calls."""

    @property
    def objects(self) -> tuple[ObjectShape, ...]:
        """The JSON objects of calls."""

    @property
    def quote(self) -> TextShape | None:
        """The markup around strings in objects whose keys have no quotes."""

    @property
    def header(self) -> HeaderShape | None:
        """The header of a message, if messages have one."""

    @property
    def ids(self) -> tuple[IdShape, ...]:
        """The ways to write a call's id."""

    @property
    def call_tags(self) -> tuple[str, ...]:
        """The tags in the patterns of calls."""

    @property
    def opens_messages(self) -> bool:
        """Whether a part of an answer begins with a header or with the turn."""

@final
class ReasoningFacts:
    """How reasoning is written."""

    @property
    def openers(self) -> tuple[str, ...]:
        """The markers that open reasoning."""

    @property
    def closers(self) -> tuple[str, ...]:
        """The markers that close it."""

    @property
    def label(self) -> str:
        """Optional markup after an opener."""

    @property
    def starts_open(self) -> bool:
        """Whether the output starts inside reasoning if the prompt is unknown."""

    @property
    def tool_calls(self) -> Literal["auto", "keep", "end"]:
        """Handling of a call inside reasoning, as for `Parser(tool_calls_in_reasoning=)`."""

@final
class HeaderFacts:
    """Markup with a closer of its own; its content may decide what follows."""

    @property
    def openers(self) -> tuple[str, ...]:
        """The markers before the header."""

    @property
    def closers(self) -> tuple[str, ...]:
        """The markers after the header."""

    @property
    def names_tool(self) -> bool:
        """Whether the header contains the name of the called tool."""

    @property
    def is_inline(self) -> bool:
        """Whether it occurs within a text, which continues after it."""

@final
class CallFacts:
    """One form of a call."""

    @property
    def openers(self) -> tuple[str, ...]:
        """The markers before the call."""

    @property
    def closers(self) -> tuple[str, ...]:
        """The markers after the call."""

    @property
    def bare(self) -> Literal["", "start", "line", "section"]:
        """Where the call may begin without an opener; "" if nowhere."""

    @property
    def first_letters(self) -> str:
        """The letters that a call without an opener can begin with; "" for any."""

    @property
    def after_header(self) -> bool:
        """Whether a header announces the call."""

    @property
    def may_be_content(self) -> bool:
        """Whether the text is content unless it parses as a call."""

    @property
    def needs_known_tool(self) -> bool:
        """Whether the call must name one of the request's tools."""

    @property
    def body(
        self,
    ) -> Literal[
        "json_call", "json_arguments", "literal_arguments", "pythonic", "xml_parameters", "xml_elements"
    ]:
        """The notation of the arguments."""

@final
class FormatFacts:
    """Properties of a format's compiled patterns."""

    @property
    def markers(self) -> tuple[str, ...]:
        """Every text that opens or closes something."""

    @property
    def marker_tokens(self) -> tuple[str, ...]:
        """The markers that a tokenizer for this format would have as single tokens."""

    @property
    def ends(self) -> tuple[str, ...]:
        """The markers that end an answer."""

    @property
    def reasoning(self) -> ReasoningFacts | None:
        """None if the format has no reasoning."""

    @property
    def headers(self) -> tuple[HeaderFacts, ...]:
        """The headers of messages."""

    @property
    def dropped(self) -> tuple[str, ...]:
        """Markup that has no meaning of its own and is dropped."""

    @property
    def section_openers(self) -> tuple[str, ...]:
        """The markers before all calls."""

    @property
    def section_closers(self) -> tuple[str, ...]:
        """The markers after all calls."""

    @property
    def calls(self) -> tuple[CallFacts, ...]:
        """The forms of a call."""

    @property
    def call_ids(self) -> Literal["random", "nine", "functions"]:
        """The style of call ids that the model's template requires."""

class FormatSource:
    """A format as its file describes it: the keys, their patterns and the result of compiling them.

    Immutable. Two sources are equal if their keys are equal.
    """

    @overload
    def __init__(self, text: str, source: str = "<format>") -> None:
        """Read a format file.

        Args:
            text: The file's TOML.
            source: The file's name, for errors.

        Raises:
            FormatError: The file is invalid; the error has source, line and column.
        """

    @overload
    def __init__(self, *, name: str, patterns: Mapping[str, Sequence[str]]) -> None:
        """Compile patterns that are not in a file.

        Raises:
            FormatError: The patterns are invalid.
        """

    @overload
    def __init__(self, other: FormatSource) -> None: ...
    @property
    def name(self) -> str:
        """The format's name."""

    @property
    def models(self) -> tuple[str, ...]:
        """The models that use the format."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names of the format."""

    @property
    def notes(self) -> str:
        """Remarks on the format, for its page."""

    @property
    def examples(self) -> tuple[dict[str, Any], ...]:
        """Inputs with the expected results."""

    @property
    def example_lines(self) -> tuple[int, ...]:
        """The line of each example in the file."""

    @property
    def detect(self) -> dict[str, Any]:
        """The rules that `unspool.detect` uses to recognize a model of this format."""

    @property
    def source(self) -> str:
        """The file's name; "" without a file."""

    @property
    def patterns(self) -> dict[str, tuple[str, ...]]:
        """The alternatives of each key: text as the model writes it, with holes."""

    @property
    def shape(self) -> Shape:
        """The meaning of the patterns."""

    @property
    def free_text_words(self) -> FreeTextWords:
        """The words that free text of a grammar must not contain."""

    @property
    def facts(self) -> FormatFacts:
        """Properties of the compiled patterns."""

    @property
    def sentences(self) -> list[str]:
        """Sentences that explain how the parser reads the format."""

    @property
    def fingerprint(self) -> int:
        """A 64-bit hash of the name and the patterns, the same in every process."""

    @property
    def has_tools(self) -> bool:
        """Whether the format has tool calls."""

    @property
    def has_reasoning(self) -> bool:
        """Whether the format has reasoning."""

    @property
    def is_plain(self) -> bool:
        """Whether all output is content."""

    def with_reasoning(self, other: FormatSource | None) -> Self:
        """Return a copy that has the reasoning of `other` instead of its own; None: no reasoning."""

@final
class Vocabulary:
    """The bytes of each token id: a tokenizer's decoder chain, compiled into a table.

    Immutable. One vocabulary per model is shared by all its streams.
    """

    def __init__(
        self,
        tokens: Mapping[str, int] | Mapping[bytes, int],
        added: Sequence[tuple[int, str, str, bool]],
        steps: Sequence[Mapping[str, Any]] = ...,
        *,
        is_bytes: bool = False,
        joins_with_space: bool = False,
        refuses_unknown: bool = False,
        special_breaks_text: bool = False,
        is_sentencepiece: bool = False,
    ) -> None:
        """Compile a table from plain data. Usually `from_tokenizer` or `from_file` does this.

        Args:
            tokens: Maps each token, as the tokenizer spells it or as bytes, to its id.
            added: (id, content, the decoder's input, is special) for each added token.
            steps: The decoder chain: one dict per step, with `kind`, `content`, ….

        Raises:
            VocabularyError: The chain cannot be compiled; the message names the step and the reason.
        """

    @staticmethod
    def from_file(path: str | os.PathLike[str]) -> Vocabulary:
        """Read a `tokenizer.json`, a `tekken.json`, a SentencePiece `.model`, a `.gguf`, or an exported
        `.vocabulary`.

        Raises:
            VocabularyError: The file is none of these, or its decoder cannot be compiled.
        """

    @staticmethod
    def from_tokenizer(tokenizer: Any) -> Vocabulary:
        """Compile a live tokenizer of tokenizers, transformers, tiktoken, mistral-common, SentencePiece or
        OpenVINO GenAI.

        A Vocabulary is returned unchanged.

        Raises:
            VocabularyError: The tokenizer's type is not supported, or its decoder cannot be compiled.
        """

    @staticmethod
    def from_tiktoken(
        path: str | os.PathLike[str], special_tokens: Mapping[str, int] | None = None
    ) -> Vocabulary:
        """Read a `.tiktoken` file. The file does not contain the special tokens, so pass them."""

    @staticmethod
    def from_bytes(data: bytes) -> Vocabulary:
        """Read the result of `to_bytes`, possibly from another process or machine.

        Raises:
            VocabularyError: The bytes are not a vocabulary, have another version, or are truncated or
                damaged.
        """

    def to_bytes(self) -> bytes:
        """Serialize the table; C++ hosts can read it too (docs/embedding.md)."""

    def __len__(self) -> int:
        """The highest id plus 1."""

    def is_special(self, id: int) -> bool:
        """Whether the tokenizer marks this id as special."""

    def is_added(self, id: int) -> bool:
        """Whether this id is an added token, special or not."""

    def content(self, id: int) -> str | None:
        """The literal text of an added token; None for others."""

    def find_added(self, content: str) -> int | None:
        """The id of the added token with this text."""

    def token_bytes(self, id: int) -> bytes:
        """The bytes that the token has in the middle of a text; empty for unknown ids."""

    @property
    def added_tokens(self) -> dict[int, str]:
        """Maps each added token's id to its text."""

@final
class Detokenizer:
    """Turns token ids into text, and holds back only unfinished characters and possible stop strings.

    Args:
        vocabulary: A Vocabulary, or a tokenizer to compile.
        skip_special_tokens: Whether to omit special tokens.
        stop: Stop strings. The match that begins first ends the text; if several begin at the same place, the
            longest one counts.
        include_stop: Whether the stop string is part of the text.
        exact: Match Hugging Face exactly on runs of byte-fallback tokens that are not valid UTF-8. Such a run
            is then held back.
        clean_up_tokenization_spaces: Apply transformers' ten replacements. Off, as in serving stacks.
        context: The last ids of the prompt. Rules for a first token then apply to the prompt; none of it is
            emitted.

    Raises:
        VocabularyError: The tokenizer cannot be compiled.
        ArgumentError: A stop string is empty.
    """

    def __init__(
        self,
        vocabulary: Any,
        skip_special_tokens: bool = True,
        stop: str | Sequence[str] = (),
        *,
        include_stop: bool = False,
        exact: bool = False,
        clean_up_tokenization_spaces: bool = False,
        context: Sequence[int] = (),
    ) -> None: ...
    def put(self, ids: SupportsIndex | Sequence[int] | Any, /) -> str:
        """Feed token ids and return the text that became certain.

        Args:
            ids: An int, or n ids (n may be 0) as a list, tuple, range, or one-row integer array or tensor.

        Returns:
            Text, possibly empty. At most 3 bytes of an unfinished UTF-8 character are held back, as is text
            that may begin a stop string.

        Raises:
            TypeError: `ids` are not integers.
            ArgumentError: There is more than one row, a negative id, or an id that the tokenizer itself
                rejects. The state is unchanged then. Other unknown ids add no text, as with the tokenizer.
            StreamError: The stream has ended.
        """

    def end(self) -> str:
        """End the stream and return the text held back; an unfinished character becomes U+FFFD."""

    def fork(self) -> Detokenizer:
        """Return an independent copy with the same state."""

    def snapshot(self, *, key: bytes = b"") -> bytes:
        """Serialize the state for `restore` in this or another process, including pending `spans`.

        Args:
            key: A secret of 16 to 64 bytes. `restore` then rejects snapshots that were made without it.
        """

    @staticmethod
    def restore(snapshot: bytes, vocabulary: Any, *, key: bytes = b"", **options: Any) -> Detokenizer:
        """Return a detokenizer that continues from the snapshot's state.

        Args:
            snapshot: The result of `snapshot`. Without a key, use only snapshots from a trusted source.
            vocabulary, options: The same arguments as for the original detokenizer.
            key: The key that was passed to `snapshot`.

        Raises:
            ArgumentError: The bytes are not a snapshot, are damaged, were made with another vocabulary or
                other options, or the key differs.
        """

    def spans(self) -> list[tuple[str, list[int]]]:
        """The pieces of text since the last call, each with its token ids; the last 4,096 pieces at most."""

    @property
    def is_stopped(self) -> bool:
        """Whether a stop string has ended the text."""

    @property
    def stop_reason(self) -> str | None:
        """The stop string that ended the text, or None."""

@final
class OtherFamilies:
    """The ways in which other families write calls (`also`). Immutable; shared by all streams."""

    def __init__(self, sources: Sequence[FormatSource]) -> None:
        """Compile the families, in the order in which they are preferred.

        Raises:
            FormatError: There are more than 255, or their markers take too much memory.
        """

    def with_unmarked(self, own: FormatSource) -> OtherFamilies:
        """Return these families, shared, and the stream's own, whose calls count without their markers too.

        Raises:
            FormatError: There are more than 255 ways to write a call.
        """

    @property
    def names(self) -> list[str]:
        """The names of the families. A family that writes calls exactly as an earlier one does is omitted."""

@final
class Format:
    """A compiled format. Immutable; shared by all streams of a model. See docs/add-a-format.md."""

    def __init__(
        self,
        source: FormatSource,
        tokens: Sequence[tuple[int, str]] = ...,
        trust: str = "id",
        *,
        has_tools: bool = True,
        is_required: bool = False,
        tool_choice: str = "",
        reasoning: bool | FormatSource = True,
        tool_calls_in_reasoning: str = "",
        unmarked_calls: bool = False,
        others: OtherFamilies | None = None,
    ) -> None:
        """Compile a format, with the vocabulary's added tokens as (id, text).

        Args:
            source: The format.
            trust: "id", "text" or "either", as in `compile_format`; "strict": its `strict_markers`.
            has_tools: False: calls are content.
            is_required: The output may be the bare list of calls that guided decoding produces.
            tool_choice: The output may be the bare arguments of this tool; empty: no tool.
            reasoning: The format that reasoning is read with. True: this one; False: none.
            tool_calls_in_reasoning: "auto", "keep" or "end"; empty: the patterns decide.
            unmarked_calls: Whether a JSON object or a list of Python calls without markers is a call if it
                matches a tool.
            others: The other families whose calls count too.

        Raises:
            FormatError: The markers take too much memory.
            ArgumentError: `trust` is "strict", and no marker that opens a call is a token.
        """

    @staticmethod
    def from_response_template(template_or_tokenizer: Any, *, vocabulary: Vocabulary | None = None) -> Format:
        """Compile a Hugging Face response template, version 1: a dict, or a tokenizer that has one.

        Raises:
            FormatError: The template is invalid or not supported; the message names the field.
            ArgumentError: The tokenizer has no response template.
        """

    @property
    def name(self) -> str:
        """The format's name."""

    @property
    def strict_markers(self) -> bool:
        """Whether a marker without a token counts only inside what a token has opened."""

    @property
    def marker_ids(self) -> list[int]:
        """Token ids that the parser needs: hosts must not strip them."""

    def starts_in_reasoning(self, prompt: str) -> bool:
        """Whether output that follows this prompt starts inside reasoning."""

    def end_of_prompt(self, prompt: str) -> str:
        """Return the shortest suffix of a prompt that has the marker of its last turn.

        Without such a marker, return the tags at the prompt's end. Parsing an answer after the suffix has the same
        result as after the whole prompt, unless the format has no turn marker and an earlier part of the prompt has
        opened something.
        """

    def ends_reasoning(self, text: str, before: str = "") -> bool:
        """Whether `text`, a prompt or output that follows `before`, ends the reasoning of its last turn.

        The check uses only the spelling of tags: those of the reasoning, and those of calls that end it. Use
        it for text that no parser has read. Returns False if the reasoning is opened again.
        """

@final
class ToolSchemas:
    """A request's tools, compiled: their names, and the types of their parameters."""

    def __init__(self, tools: Mapping[str, str]) -> None:
        """Read the JSON Schema of each tool's parameters, given as JSON text.

        Raises:
            ArgumentError: A schema is not valid JSON.
        """

    def __contains__(self, name: str) -> bool: ...
    def __len__(self) -> int: ...
    @property
    def names(self) -> tuple[str, ...]:
        """The tools' names, sorted."""

    def schema(self, name: str) -> str | None:
        """The JSON Schema of a tool's parameters, as JSON text; None if there is no such tool."""

_Kind = Literal[
    "content",
    "reasoning",
    "tool_call_begin",
    "tool_call_arguments",
    "tool_call_end",
    "malformed",
    "dropped",
    "finish",
]

class Delta:
    """One step of the answer, in the shape that an API sends. Immutable; compares by value."""

    def __new__(
        cls,
        kind: str,
        *,
        text: str = "",
        index: int | None = None,
        id: str | None = None,
        name: str | None = None,
        status: str | None = None,
        finish_reason: str | None = None,
        reason: str | None = None,
        token_span: tuple[int, int] | None = None,
        token_ids: Sequence[int] | None = None,
        reasoning_field: str = "reasoning_content",
        choice: int = 0,
    ) -> Delta: ...
    @property
    def kind(self) -> _Kind:
        """What the delta reports."""

    @property
    def text(self) -> str:
        """Content, reasoning, a fragment of arguments, or raw text; may be empty."""

    @property
    def index(self) -> int | None:
        """The call's index in the message: 0, 1, …."""

    @property
    def choice(self) -> int:
        """Which of the request's answers the delta belongs to, from 0.

        In a chat chunk it is the `index` of the `choices[]` entry, so `to_openai` does not include it.
        """

    @property
    def id(self) -> str | None:
        """The call's id; only in the delta that begins the call."""

    @property
    def name(self) -> str | None:
        """The tool's name; only in the delta that begins the call."""

    @property
    def status(self) -> Literal["complete", "incomplete", "malformed"] | None:
        """How the call ended; only in the delta that ends the call."""

    @property
    def finish_reason(self) -> Literal["stop", "length", "tool_calls", "error", "cancelled"] | None:
        """Why the output ended; only in the last delta."""

    @property
    def is_content(self) -> bool:
        """Whether clients get the text as content: content, or malformed text of a call that was never emitted."""

    @property
    def reason(self) -> str | None:
        """Why text is malformed or dropped."""

    @property
    def token_span(self) -> tuple[int, int]:
        """The half-open range of token positions that the delta was made from."""

    @property
    def token_ids(self) -> tuple[int, ...]:
        """The token ids in `token_span`; empty if the input was text only."""

    def to_openai(self) -> dict[str, Any]:
        """The `delta` object of a chat completion chunk; {} if the API cannot express it."""

    @property
    def json(self) -> bytes:
        """The result of `to_openai` as JSON in UTF-8."""

@final
class DeltaChannel:
    """A bounded queue of deltas between producer threads and one consumer, in a thread or an event loop.

    It ends once: closed, failed or cancelled, whichever comes first. Waits release the GIL. Several consumers
    are allowed: each delta goes to one of them, and waiting tasks are served in the order of their calls.

    Ctrl-C ends a wait with KeyboardInterrupt. An interrupted or timed-out call has no effect and can be
    repeated.

    A channel belongs to the process that created it. After a fork, the child's copy is cancelled, and `get`
    and `put` raise there.

    Args:
        maxsize: Maximum number of deltas before `put` waits. 0: no limit.
    """

    def __init__(self, maxsize: int = 0) -> None: ...
    def put(self, delta: Delta, timeout: float | None = None) -> None:
        """Add a delta; wait while the channel is full.

        Raises:
            ChannelClosedError: `close` or `fail` was called.
            ChannelCancelledError: The consumer has cancelled.
            ChannelTimeoutError: The channel stayed full for `timeout` seconds.
        """

    def put_many(self, deltas: Iterable[Delta], timeout: float | None = None) -> None:
        """Add several deltas, one after the other.

        Each is consumed from `deltas` only when there is room for it. After an error, an iterator still holds
        the deltas that were not added.
        """

    def put_final(self, delta: Delta, timeout: float | None = None) -> None:
        """Add the last delta and close: the consumer sees both together."""

    def close(self) -> None:
        """End the channel normally. Later puts raise; queued deltas can still be read."""

    def fail(self, error: BaseException) -> None:
        """End the channel with an error. The consumer reads the queued deltas, then gets this exception."""

    def cancel(self) -> None:
        """Drop the queued deltas and end all waits."""

    def get(self, timeout: float | None = None) -> Delta | None:
        """Return the next delta, or None when the channel is closed and empty.

        Raises:
            ChannelTimeoutError: No delta arrived within `timeout` seconds.
            ChannelCancelledError: The channel was cancelled.
            BaseException: The exception passed to `fail`.
        """

    async def aget(self, timeout: float | None = None) -> Delta | None:
        """`get` for a running event loop; concurrent calls are served in order."""

    def drain(self) -> list[Delta]:
        """Return all queued deltas without waiting."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until `get` would return at once; return False on a timeout."""

    def _get_ready(
        self, ticket: int = 0, cancelled_is_end: bool = False
    ) -> Delta | NotImplementedType | None: ...
    def _arm(self, callback: Callable[[], bool], ticket: int = 0, until_begin: bool = False) -> int: ...
    def _disarm(self, ticket: int) -> None: ...
    def __iter__(self) -> DeltaChannel: ...
    def __next__(self) -> Delta: ...
    def __aiter__(self) -> AsyncIterator[Delta]: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> Literal[True]: ...
    @property
    def maxsize(self) -> int:
        """Maximum number of deltas before `put` waits; 0: no limit."""

    @property
    def has_begun(self) -> bool:
        """Whether a streamer has read its first token; it may have made no delta yet."""

    @property
    def is_closed(self) -> bool:
        """Whether it accepts no more deltas."""

    @property
    def is_cancelled(self) -> bool:
        """Whether it was cancelled."""

    @property
    def is_finished(self) -> bool:
        """Whether it is closed and empty."""

@final
class ArgumentEvent:
    """An update about one value of a call's arguments.

    An object or array has two events: when it opens and when it closes. A string has one event per fragment;
    the last one is final and may be empty. Any other value has one event. The arguments as a whole, with the
    path (), are final at the end of a complete call. A call that is cut off or malformed never has that
    event.
    """

    @property
    def call(self) -> int:
        """The call's index in the message, from 0."""

    @property
    def path(self) -> tuple[str | int, ...]:
        """Keys and indices that lead from the arguments to the value."""

    @property
    def kind(self) -> Literal["object", "array", "string", "number", "boolean", "null"]:
        """The value's type."""

    @property
    def text(self) -> str:
        """A string's decoded fragment; the JSON of a number, true, false or null; else "".

        A lone surrogate is the six characters of its escape.
        """

    @property
    def is_final(self) -> bool:
        """Whether the value is whole and cannot change in a complete call.

        If an inner object has a key twice, both members are reported and the last one counts, as in JSON. A
        repeated parameter makes the call malformed.
        """

    @property
    def start(self) -> int:
        """Byte offset in the call's arguments where the event begins. A string's fragments have no gaps."""

    @property
    def end(self) -> int:
        """Byte offset just past the event's last byte."""

    @property
    def pointer(self) -> str:
        """The path as an RFC 6901 JSON Pointer, such as "/days/0"."""

    @property
    def json_path(self) -> str:
        """The path as an RFC 9535 JSONPath, such as "$.days[0]"."""

class ArgumentReader:
    """Reads the arguments of one answer's calls while they stream, in any format. Not thread-safe."""

    def __init__(self) -> None: ...
    def put(self, deltas: Delta | Iterable[Delta]) -> list[ArgumentEvent]:
        """Read deltas of one answer, in order.

        Returns:
            The events that result. Deltas outside calls produce none.

        Raises:
            TypeError: `deltas` holds something other than deltas.
        """

class WireWriter:
    """Writes one response as bytes, from deltas, in the client's protocol.

    See docs/wire-shapes.md. Not thread-safe.

    Args:
        protocol: "chat_completions", "completions", "responses" (all OpenAI's), "messages" (Anthropic's),
            "open_inference" (Open Inference Protocol v2) or "google" (generateContent).
        model: The model's name in the response.
        id: The response's id. None: a random one in the protocol's form.
        created: Creation time in Unix seconds. None: now.
        n: The number of answers; must be 1 for responses and messages.
        stream: False: `body` returns the whole response, and nothing is written before.
        sse: True: server-sent events. False: one JSON object per line, without the parts that only event
            streams have; in google's protocol, a JSON array of the objects.
        include_usage: Send the usage in a chunk of its own (chat_completions, completions) or with the
            last response (open_inference). The other protocols always send it.
        reasoning_field: The field that holds reasoning in chat deltas and messages; overrides the deltas'
            own.
        reasoning_events: How the responses protocol sends reasoning: as a "summary", which all clients show,
            or as "text", which LangChain and Vercel's AI SDK do not show.
        prompt_token_count: The prompt's length in tokens, if known; the messages protocol sends it at the
            start.
        extra: More members for each chunk or response: `system_fingerprint`, `service_tier`,
            `model_version`; for the responses protocol, the request's own fields (`instructions`, `tools`,
            …).
        incomplete_calls: "forward" writes what was read of a call that is cut off or malformed. "withhold"
            omits such calls, and writes each other call in one piece once it is complete.
        custom_tools: Names of tools of type "custom". chat_completions and responses write their calls as calls
            of custom tools, with the text of the argument `input`.
        namespaces: For the responses protocol: maps the name that the model sees to the tool's (namespace,
            name). Calls contain both.
        stream_arguments: Whether google's protocol streams a call's arguments, in `partialArgs`, which cannot
            express empty lists and objects. False: a call is written when it is complete.

    Raises:
        ArgumentError: An option has an invalid value, or `extra` sets a member that the writer itself writes.
    """

    def __init__(
        self,
        protocol: str,
        *,
        model: str,
        id: str | None = None,
        created: int | None = None,
        n: int = 1,
        stream: bool = True,
        sse: bool = True,
        include_usage: bool = False,
        reasoning_field: str = "reasoning_content",
        reasoning_events: str = "summary",
        prompt_token_count: int = 0,
        extra: Mapping[str, Any] | None = None,
        incomplete_calls: str = "forward",
        custom_tools: Sequence[str] = (),
        namespaces: Mapping[str, tuple[str, str]] = ...,
        stream_arguments: bool = False,
    ) -> None: ...
    def begin(self) -> bytes:
        """Return the bytes before the first delta, possibly none; `write` calls it if you have not.

        Raises:
            StreamError: The response has already begun or has ended.
        """

    def write(self, deltas: Delta | Iterable[Delta], /) -> bytes:
        """Return the bytes of one delta, or of several that are ready together; these share chunks if they
        can.

        Returns:
            Whole frames; empty if the protocol cannot express the deltas.

        Raises:
            ArgumentError: A delta is out of order: its choice is not below `n`, its choice has finished, or
                its call is neither open nor the next one. The state is unchanged then.
            StreamError: The response has ended.
        """

    def drain(self, channel: DeltaChannel) -> bytes:
        """Return the bytes of all deltas in a channel, without creating Python objects for them.

        Never waits. `channel.is_finished` is True when no more will come.

        Raises:
            ArgumentError, StreamError: As in `write`; the deltas are lost then.
            ChannelCancelledError: The channel was cancelled.
            BaseException: The exception passed to the channel's `fail`, after the queued deltas.
        """

    def end(self, usage: Mapping[str, Any] | None = None, *, stop_sequence: str | None = None) -> bytes:
        """Return the bytes that end a stream.

        Args:
            usage: `prompt_tokens`, `completion_tokens`, `cached_tokens`, `reasoning_tokens`, and any other
                counts. By default the prompt's count is `prompt_token_count`, and the completion's is derived
                from the deltas' spans.
            stop_sequence: The stop string that ended the text, if any; the messages protocol sends it.

        Raises:
            StreamError: A choice has not finished, the response has ended, or `stream` is False.
        """

    def body(self, usage: Mapping[str, Any] | None = None, *, stop_sequence: str | None = None) -> bytes:
        """Return the whole response, if `stream` is False; arguments and errors as in `end`."""

    def fail(self, message: str, *, type: str | None = None, code: str | None = None) -> bytes:
        """End the response with the protocol's error. If it is not streamed, return the error's body.

        Args:
            message: The error message for the client.
            type: The protocol's error type. None: its type for a server error.
            code: An error code, if the protocol has one.
        """

    def fork(self) -> WireWriter:
        """Return an independent copy with the same state and the same response id.

        The copy's output continues after the bytes written so far. It does not belong to a `StreamBatch`,
        even if this writer does.

        Raises:
            StreamError: A batch is writing with this writer at the moment.
        """

    def snapshot(self, *, key: bytes = b"") -> bytes:
        """Serialize the state for `restore` in this or another process.

        Args:
            key: A secret of 16 to 64 bytes. `restore` then rejects snapshots that were made without it.

        Raises:
            StreamError: A batch is writing with this writer at the moment.
        """

    @staticmethod
    def restore(
        snapshot: bytes,
        protocol: str,
        *,
        key: bytes = b"",
        model: str,
        id: str | None = None,
        created: int | None = None,
        n: int = 1,
        stream: bool = True,
        sse: bool = True,
        include_usage: bool = False,
        reasoning_field: str = "reasoning_content",
        reasoning_events: str = "summary",
        prompt_token_count: int = 0,
        extra: Mapping[str, Any] | None = None,
        incomplete_calls: str = "forward",
        custom_tools: Sequence[str] = (),
        namespaces: Mapping[str, tuple[str, str]] = ...,
        stream_arguments: bool = False,
    ) -> WireWriter:
        """Return a writer that continues after the bytes written before the snapshot.

        Args:
            snapshot: The result of `snapshot`. Without a key, use only snapshots from a trusted source.
            protocol, model, …: The same arguments as for the original writer. `id` and `created` are in the
                snapshot.
            key: The key that was passed to `snapshot`.

        Raises:
            ArgumentError: The bytes are not a snapshot, are damaged, were made with another protocol or other
                options, or the key differs.
        """

    def keep_alive(self) -> bytes:
        """Keep-alive bytes; may be sent between any two writes. Clients skip them."""

    def add_logprobs(
        self,
        choice: int,
        entries: Iterable[
            tuple[str | bytes, float] | tuple[str | bytes, float, Iterable[tuple[str | bytes, float]]]
        ],
    ) -> None:
        """Add the log-probabilities of an answer's next token ids, before the deltas of these ids.

        Args:
            choice: The answer's index.
            entries: One tuple per token id, in order: the token as text or bytes, its natural log-probability,
                and optionally the most likely tokens at its position as pairs of the same kind, such as
                `("Paris", -0.1, [("Paris", -0.1), ("Lyon", -2.3)])`.

        Raises:
            ArgumentError: A value is NaN or above 0, or `choice` is not below `n`.
        """

    @property
    def protocol(self) -> str:
        """The protocol's name."""

    @property
    def id(self) -> str:
        """The response's id."""

    @property
    def created(self) -> int:
        """Creation time in Unix seconds."""

    @property
    def has_begun(self) -> bool:
        """Whether the response has begun. Before that, an error can still be sent as a response of its own."""

    @property
    def has_ended(self) -> bool:
        """Whether the response has ended."""

class StreamRecipe:
    """The shared settings of streams; `unspool.parse_batch` parses with it."""

    def __init__(
        self,
        format: Format,
        options: dict[str, Any],
        vocabulary: Vocabulary | None = None,
        starts_in_reasoning: bool | None = None,
        kept_reasoning: Format | None = None,
    ) -> None:
        """Collect the settings of a stream.

        Args:
            options: The core's options by name, as listed by `_stream_options`. Missing options keep their
                defaults; other names are ignored.

        Raises:
            TypeError, ArgumentError: A value has the wrong type, is out of bounds, or is not a valid choice.
        """

    def for_request(self, tools: ToolSchemas | None, prompt: str | Sequence[int] | None) -> StreamRecipe:
        """A copy with a request's own tools and prompt."""

    def parse(
        self,
        outputs: tuple[Any, ...],
        finish_reasons: str | tuple[str, ...],
        threads: int,
        reasoning_field: str,
    ) -> list[Message]:
        """Parse whole outputs, each a text or token ids, each with a stream of its own; see `parse_batch`."""

class _BatchColumn:
    """The buffer of a `BatchResult` view."""

@final
class BatchResult:
    """The results of a `StreamBatch` step.

    The views keep it alive. Its memory is reused when nothing references it.
    """

    @property
    def slots(self) -> memoryview:
        """The slots of the step in their order, int32."""

    @property
    def ended(self) -> memoryview:
        """The slots whose answer has ended (stop string, end token, or `finish`), int32."""

    @property
    def data(self) -> memoryview:
        """The bytes of all slots, in the order of `slots`."""

    @property
    def offsets(self) -> memoryview:
        """Offsets into `data` where each slot's bytes begin, and the end of the last one, int64."""

    def sse(self, slot: int, /) -> bytes:
        """The bytes from this slot's writer; empty if nothing became certain or the slot has no writer.

        Raises:
            ArgumentError: The slot was not in this step.
        """

    def deltas(self, slot: int) -> list[Delta]:
        """The deltas of a slot that has no writer or was added with `deltas=True`; otherwise empty.

        Raises:
            ArgumentError: The slot was not in this step.
        """

    def __contains__(self, slot: int) -> bool: ...
    def __len__(self) -> int: ...

class StreamBatch:
    """The native base of `unspool.StreamBatch`; use that class."""

    def __init__(self, reasoning_field: str) -> None: ...
    def _add(
        self,
        recipe: StreamRecipe,
        tools: ToolSchemas | None,
        prompt: str | Sequence[int] | None,
        writer: WireWriter | None,
        choice: int,
        deltas: bool,
        end_ids: Sequence[int] | None,
    ) -> int: ...
    def step(self, slots: Any, ids: Any, offsets: Any = None, /) -> BatchResult:
        """Feed each slot its token ids.

        Args:
            slots: The slots, each once: a list, or a one-dimensional int32 or int64 array in CPU memory, such
                as NumPy's or PyTorch's. int32 arrays are read in place.
            ids: One token id per slot; with `offsets`, the ids of all slots, concatenated.
            offsets: Where each slot's ids begin in `ids`, and the total number of ids: one more entry than
                slots.

        Raises:
            TypeError, ArgumentError: An argument is invalid, a slot is free or repeated, or the tokenizer
                rejects an id. The state is unchanged then.
            StreamError: A slot has finished, or another thread is stepping this batch. The state is unchanged
                then.
        """

    def finish(self, slot: int, finish_reason: str = "stop") -> BatchResult:
        """End an answer and return its last deltas or bytes, as a result with this slot only.

        Args:
            finish_reason: "stop", "length", "error" or "cancelled".

        Raises:
            ArgumentError: The slot is free.
            StreamError: The slot has finished.
        """

    def fork(
        self, slot: int, *, writer: WireWriter | None = None, choice: int = 0, deltas: bool = False
    ) -> int:
        """Copy a slot's stream into a new slot that continues independently, for beam search and best-of.

        Args:
            writer: The copy's writer, such as a `fork()` of the slot's. None: the copy collects deltas.
            choice, deltas: As in `add`.

        Returns:
            The new slot: the lowest free number.

        Raises:
            ArgumentError: The slot is free, or another slot has this writer and choice.
            StreamError: The writer's response has ended, or another batch uses the writer.
        """

    def rollback(self, slot: int, count: int) -> BatchResult:
        """Undo a slot's last token ids, as `TokenStreamer.rollback` does; return a result with this slot
        only.

        Args:
            count: How many ids, at most the slot's `rollback_window`.

        Raises:
            ArgumentError: The slot is free, the window holds fewer ids, or the slot has a writer, whose bytes
                cannot be undone.
            StreamError: The slot has finished.
        """

    def remove(self, slot: int) -> None:
        """Free a slot, finished or not.

        Raises:
            ArgumentError: The slot is free.
        """

    def _message(self, slot: int, reasoning_field: str) -> Message: ...
    def stop_reason(self, slot: int) -> str | None:
        """The stop string that ended the slot's text, or None."""

    def token_count(self, slot: int) -> int:
        """The number of output token ids that the slot has read."""

    def __len__(self) -> int:
        """The number of slots in use."""

class TokenStreamer:
    """The native base of `unspool.Parser` and `unspool.TokenStreamer`; use those classes."""

    def __init__(
        self,
        recipe: StreamRecipe,
        reasoning_field: str = "reasoning_content",
        tools: ToolSchemas | None = None,
        prompt: str | Sequence[int] | None = None,
        *,
        channel: DeltaChannel | None = None,
        choice: int = 0,
        closes_channel: bool = True,
        first_put: Literal["output", "prompt", "row_is_prompt"] = "output",
    ) -> None: ...
    def parse_chunk(
        self,
        text: str | bytes | bytearray | memoryview | None = None,
        tokens: SupportsIndex | Sequence[int] | Any | None = None,
        finish_reason: str | None = None,
    ) -> list[Delta]:
        """Feed a chunk and return the deltas that became certain.

        Args:
            text: A str, or UTF-8 bytes that may be split anywhere.
            tokens: Token ids: on their own (needs a tokenizer), or the ids that produced the text. The text
                may arrive later than its ids, with or without the text of special tokens.
            finish_reason: Ends the stream, as `finish` does.

        Returns:
            Deltas, possibly none.

        Raises:
            TypeError, ArgumentError: An argument is invalid; the state is unchanged then.
            StreamError: The stream has ended.
        """

    def put(self, ids: SupportsIndex | Sequence[int] | Any, /) -> list[Delta]:
        """Feed token ids and return the deltas that became certain; same as `parse_chunk(tokens=ids)`."""

    def fork(self, *, channel: DeltaChannel | None = None, choice: int | None = None) -> Self:
        """Return an independent copy of the stream, for beam search, best-of and drafts that may be
        discarded.

        The copy has the same class and the message so far. Its deltas are those of a fresh stream with the
        same input, from this point on. A call that both streams write has the same id in both.

        Args:
            channel: The channel for the copy's deltas; required if this stream has one. Deltas that this
                stream has not sent yet stay with it.
            choice: The index of the copy's answer. None: the same as this stream's.

        Raises:
            ArgumentError: This stream has a channel and the copy has none, or the copy has both a channel and
                a `rollback_window`.
        """

    def _state(self) -> bytes:
        """The state that `Parser.snapshot` seals."""

    def _restore_state(self, state: bytes) -> None:
        """Load a state into a stream that has read nothing."""

    def rollback(self, count: int, /) -> list[Delta]:
        """Undo the last token ids: the next `put` continues after the ids before them, as in a fresh stream.

        Discard the deltas of every `put` that contained one of these ids. If the first such `put` also
        contained earlier ids, the returned deltas replace what it returned.

        Args:
            count: How many ids, at most `rollback_window`. Ids after a stop string count too.

        Raises:
            ArgumentError: The window holds fewer ids, or the stream has no window.
            StreamError: The stream has ended.
        """

    @property
    def region(self) -> Literal["content", "reasoning", "tool_call"]:
        """The region that is open now; constant time."""

    @property
    def held_bytes(self) -> int:
        """The number of bytes received but not yet emitted: the length of `held`'s text."""

    @property
    def held(self) -> tuple[bytes, HeldReason]:
        """The bytes received but not yet emitted, and the reason.

        The bytes are the end of the input, without what the format treats as markup. Inside a call whose name
        has been emitted, they are in the form that the body's reader holds: character references are decoded,
        and Python values are written as JSON. Bytes in the detokenizer (if the input is token ids only) are
        not included.

        Reasons: "none"; "character": an unfinished character; "marker": possibly the start of a marker
        (`held_markers`); "space": markup or text, depending on what follows; "header": a header that is not
        complete; "call": either a call or content; "name": a tool name that is not certain yet; "key": a
        parameter's name; "value": a value whose type or end is open; "separator": counts only if a value
        follows; "closing_tag": either ends the value or belongs to it; "ids": the token ids have not arrived
        yet.
        """

    @property
    def held_markers(self) -> list[str]:
        """The markers that the held bytes may become, if the reason is "marker".

        Empty if the marker is a pattern, as in a response template.
        """

    @property
    def is_finished(self) -> bool:
        """Whether the stream has ended."""

    @property
    def is_stopped(self) -> bool:
        """Whether a stop string has ended the text."""

    @property
    def stop_reason(self) -> str | None:
        """The stop string that ended the text, or None."""

    @property
    def token_count(self) -> int:
        """The number of output token ids read, with or without text.

        The prompt is not counted. If the input is token ids only, ids after a stop string are not counted
        either, because no delta covers them.
        """

    @property
    def _format(self) -> str: ...
    @property
    def _has_prompt(self) -> bool: ...
    def _passes_by(self, id: int) -> bool: ...
    def _message(self, deltas: list[Delta], reasoning_field: str) -> Message: ...
    def _audit(self) -> list[tuple[str, str]]: ...
    def labels(self) -> Labels:
        """The label of each token id that is certain so far; of all ids after the end.

        A label never changes.

        Raises:
            ArgumentError: The stream was created without `labels=True`.
        """

"""Types and documentation of the native module."""

import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from types import NotImplementedType
from typing import Any, Literal, SupportsIndex, final

from typing_extensions import Self

from unspool.labels import Labels
from unspool.message import Message

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

def read_format_file(text: str, source: str) -> str:
    """A format's file as JSON: its keys, the lines of its examples.

    Raises:
        FormatError: With source, line and column.
    """

def format_words() -> str:
    """Every word that a format's file may use, with its meaning, as JSON."""

def format_facts(patterns: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `FormatFacts`. Raises FormatError: the patterns cannot be compiled."""

def split_patterns(patterns: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `Patterns`, each pattern as texts and holes. Raises FormatError as `format_facts`."""

def explain_format(patterns: Mapping[str, Any]) -> list[str]:
    """How the parser reads these patterns, in sentences. Raises FormatError: they cannot be compiled."""

def old_facts(patterns: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What these patterns say, in the keys of old files. Raises FormatError: they cannot be compiled."""

def _stream_options() -> list[tuple[str, Any, tuple[str, ...], str]]: ...
def _compile_template(json: str, name: str, tokens: Sequence[tuple[int, str]]) -> Format: ...
def _bind_template(format: Format, tokens: Sequence[tuple[int, str]]) -> Format: ...
def _is_template(format: Format) -> bool: ...
def _find_pattern(pattern: str, pieces: Sequence[str]) -> tuple[int, int, dict[str, str]] | None: ...

@final
class Vocabulary:
    """What each token id stands for: a tokenizer's decoder chain compiled into a table.

    Immutable; one for a model, shared by all its streams.
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
        """Compile a table from plain data; `from_tokenizer` and `from_file` are the usual ways.

        Args:
            tokens: Token, as the tokenizer spells it (or its bytes), to id.
            added: (id, content, what the decoder is given, is special) of each added token.
            steps: The decoder chain, a dict a step with `kind`, `content`, ….

        Raises:
            VocabularyError: The chain cannot be compiled; the message says which step and why.
        """

    @staticmethod
    def from_file(path: str | os.PathLike[str]) -> Vocabulary:
        """Read a `tokenizer.json`, a `tekken.json`, a SentencePiece `.model` file, or an exported `.vocabulary`.

        Raises:
            VocabularyError: It is none of these, or its decoder cannot be compiled.
        """

    @staticmethod
    def from_tokenizer(tokenizer: Any) -> Vocabulary:
        """Compile a live tokenizer: of tokenizers, transformers, tiktoken, mistral-common, SentencePiece, OpenVINO GenAI.

        A Vocabulary is returned as it is.

        Raises:
            VocabularyError: No way to read it, or its decoder cannot be compiled.
        """

    @staticmethod
    def from_tiktoken(
        path: str | os.PathLike[str], special_tokens: Mapping[str, int] | None = None
    ) -> Vocabulary:
        """Read a `.tiktoken` file; its special tokens are not in it."""

    @staticmethod
    def from_bytes(data: bytes) -> Vocabulary:
        """Read what `to_bytes` wrote, also in another process, or on another machine.

        Raises:
            VocabularyError: The bytes are no vocabulary, of another version, cut off or damaged.
        """

    def to_bytes(self) -> bytes:
        """The table as bytes, for hosts in C++ too (docs/embedding.md)."""

    def __len__(self) -> int:
        """One past the highest id."""

    def is_special(self, id: int) -> bool:
        """Whether the tokenizer marks this id as special."""

    def is_added(self, id: int) -> bool:
        """Whether this id is an added token, special or not."""

    def content(self, id: int) -> str | None:
        """The literal text of an added token; None for others."""

    def find_added(self, content: str) -> int | None:
        """The id of the added token with this text."""

    def token_bytes(self, id: int) -> bytes:
        """What the id stands for in the middle of a text; empty for unknown ids."""

    @property
    def added_tokens(self) -> dict[int, str]:
        """Id to text of every added token."""

@final
class Detokenizer:
    """Ids in, text out: holds back only an unfinished character, or what may become a stop string.

    Args:
        vocabulary: A Vocabulary, or a tokenizer to compile.
        skip_special_tokens: Leave special tokens out.
        stop: Stop strings: the first to begin ends the text; of those at one place the longest.
        include_stop: Whether the stop string is part of the text.
        exact: On runs of byte-fallback tokens that are not UTF-8, match Hugging Face to the letter, at
            the price of holding the run.
        clean_up_tokenization_spaces: Apply transformers' ten replacements; off, as serving stacks run.
        context: The prompt's last ids: rules for a first token apply to it; none of it is emitted.

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
        """Feed token ids, get the text that became certain.

        Args:
            ids: An int; a list, tuple or range; a one-row integer array or tensor; n ids, n may be 0.

        Returns:
            Text, possibly empty. At most 3 bytes are held for UTF-8's sake, and what may begin a stop
            string.

        Raises:
            TypeError: `ids` is not integral.
            ArgumentError: More than one row, a negative id, or an id that the tokenizer itself would
                refuse; nothing has changed then. Others contribute nothing, as with the tokenizer.
            StreamError: `end` was called before.
        """

    def end(self) -> str:
        """End the stream, get what was held; an unfinished character becomes U+FFFD."""

    def fork(self) -> Detokenizer:
        """A copy that reads on by itself, from where this one stands."""

    def snapshot(self, *, key: bytes = b"") -> bytes:
        """The state as bytes, for `restore` in this process or another one; with spans that no one took.

        Args:
            key: A secret of 16 to 64 bytes: without it no one makes bytes that `restore` takes with it.
        """

    @staticmethod
    def restore(snapshot: bytes, vocabulary: Any, *, key: bytes = b"", **options: Any) -> Detokenizer:
        """A detokenizer that goes on where the one of the snapshot stood.

        Args:
            snapshot: What `snapshot` returned. Without a key, only from those you trust.
            vocabulary, options: What that one was made with.
            key: That of `snapshot`.

        Raises:
            ArgumentError: The bytes are no snapshot, or damaged, or of another vocabulary or other options;
                or the key is another one.
        """

    def spans(self) -> list[tuple[str, list[int]]]:
        """The pieces since the last call, each with the ids that made it; the last 4,096 at most."""

    @property
    def is_stopped(self) -> bool:
        """Whether a stop string has ended the text."""

    @property
    def stop_reason(self) -> str | None:
        """The stop string that ended the text; None if none has."""

@final
class Format:
    """A format compiled; immutable, shared by all streams of a model. See docs/add-a-format.md."""

    def __init__(
        self,
        patterns: Mapping[str, Any],
        tokens: Sequence[tuple[int, str]] = ...,
        trust: str = "id",
        *,
        has_tools: bool = True,
        is_required: bool = False,
        tool_choice: str = "",
        reasoning: bool | Mapping[str, Any] = True,
        tool_calls_in_reasoning: str = "",
        unmarked_calls: bool = False,
    ) -> None:
        """Compile a file's patterns, with the vocabulary's added tokens as (id, text).

        Args:
            patterns: The keys of a format's file that hold patterns, and its name.
            has_tools: False: calls are content.
            is_required: The output may be the bare list of calls that guided decoding writes.
            tool_choice: The tool whose bare arguments the output may be; empty: none.
            reasoning: The patterns of the format whose reasoning is read; True: this one's; False: none.
            tool_calls_in_reasoning: "auto", "keep" or "end"; empty: as the patterns say.
            unmarked_calls: A JSON object without markers is a call if it fits a tool.

        Raises:
            FormatError: They cannot be compiled.
        """

    @staticmethod
    def from_response_template(template_or_tokenizer: Any, *, vocabulary: Vocabulary | None = None) -> Format:
        """Compile a Hugging Face response template, version 1: a dict, or a tokenizer that has one.

        Raises:
            FormatError: It is no template that can be compiled; the message names the field.
            ArgumentError: The tokenizer has none.
        """

    @property
    def name(self) -> str:
        """The format's name."""

    @property
    def marker_ids(self) -> list[int]:
        """Token ids that this format must see: hosts must not strip them."""

    def starts_in_reasoning(self, prompt: str) -> bool:
        """Whether output that follows this prompt starts inside reasoning."""

    def ends_reasoning(self, text: str, before: str = "") -> bool:
        """Whether text, a prompt or output after `before`, ends the reasoning of its last turn.

        Decided by the spelling of tags: the reasoning's, and those of calls that end it. For text that no
        parser has read. False if the reasoning is opened again.
        """

@final
class ToolSchemas:
    """The request's tools compiled: names, and parameters with their types as bits."""

    def __init__(self, tools: Mapping[str, str]) -> None:
        """Read the JSON Schema of each tool's parameters, as text.

        Raises:
            ArgumentError: It is no JSON.
        """

    def __contains__(self, name: str) -> bool: ...
    def __len__(self) -> int: ...

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
        """What it reports."""

    @property
    def text(self) -> str:
        """Content, reasoning, an arguments fragment, or raw text; "" if there is none."""

    @property
    def index(self) -> int | None:
        """The call's number in the message, from 0 without gaps."""

    @property
    def choice(self) -> int:
        """Which of the request's answers it belongs to, from 0.

        It is the `index` of a chat chunk's `choices[]`, and so beside what `to_openai` gives, not in it.
        """

    @property
    def id(self) -> str | None:
        """The call's id, if it begins."""

    @property
    def name(self) -> str | None:
        """The tool's name, if the call begins."""

    @property
    def status(self) -> Literal["complete", "incomplete", "malformed"] | None:
        """How the call ended, if it does."""

    @property
    def finish_reason(self) -> Literal["stop", "length", "tool_calls", "error", "cancelled"] | None:
        """Why the output ended, if it does."""

    @property
    def reason(self) -> str | None:
        """What was wrong, if text is malformed or dropped."""

    @property
    def token_span(self) -> tuple[int, int]:
        """The half-open range of positions of the token ids that it came from."""

    @property
    def token_ids(self) -> tuple[int, ...]:
        """Those token ids; empty if only text came."""

    def to_openai(self) -> dict[str, Any]:
        """The `delta` of a chat completion chunk; {} for what the API has no words for."""

    @property
    def json(self) -> bytes:
        """What `to_openai` gives, as JSON in UTF-8."""

@final
class DeltaChannel:
    """Deltas across threads and event loops: bounded, many producers, one consumer.

    It ends once: closed, failed or cancelled, whichever comes first. Waits release the GIL. Several consumers
    are allowed: each delta goes to one of them, and tasks that wait are served in the order in which they came.

    Ctrl-C ends a wait with KeyboardInterrupt. The interrupted call has put nothing and taken nothing, so it can
    be repeated. The same holds for a timeout.

    A channel belongs to the process that made it. After a fork it is cancelled in the child, and `get` and
    `put` raise there.

    Args:
        maxsize: How many deltas it holds before `put` waits; 0: any number.
    """

    def __init__(self, maxsize: int = 0) -> None: ...
    def put(self, delta: Delta, timeout: float | None = None) -> None:
        """Put one in; waits while the channel is full.

        Raises:
            ChannelClosedError: After `close` or `fail`.
            ChannelCancelledError: The consumer has cancelled.
            ChannelTimeoutError: It stayed full for `timeout` seconds.
        """

    def put_many(self, deltas: Iterable[Delta], timeout: float | None = None) -> None:
        """Put several in, one after the other.

        Each is taken from `deltas` once there is room for it. After an error an iterator still has those that
        were not put.
        """

    def put_final(self, delta: Delta, timeout: float | None = None) -> None:
        """Put the last one in: the consumer sees it and the end together."""

    def close(self) -> None:
        """No more puts; what is in it can be read."""

    def fail(self, error: BaseException) -> None:
        """No more puts; the consumer gets what is in it, then this very exception."""

    def cancel(self) -> None:
        """Drop what is in it; waiting producers and the consumer return."""

    def get(self, timeout: float | None = None) -> Delta | None:
        """The next delta; None once the channel is closed and empty.

        Raises:
            ChannelTimeoutError: Nothing came in `timeout` seconds.
            ChannelCancelledError: It was cancelled.
            BaseException: The one given to `fail`.
        """

    async def aget(self, timeout: float | None = None) -> Delta | None:
        """`get` for a running event loop; several at once are served in the order in which they came."""

    def drain(self) -> list[Delta]:
        """All that is ready, without waiting."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until `get` would return at once; False if time ran out."""

    def _get_ready(self, cancelled_is_end: bool = False) -> Delta | NotImplementedType | None: ...
    def _arm(self, callback: Callable[[], None], ticket: int = 0) -> int: ...
    def _disarm(self, ticket: int) -> None: ...
    def __iter__(self) -> DeltaChannel: ...
    def __next__(self) -> Delta: ...
    def __aiter__(self) -> AsyncIterator[Delta]: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> Literal[True]: ...
    @property
    def maxsize(self) -> int:
        """How many it holds before `put` waits; 0: any number."""

    @property
    def is_closed(self) -> bool:
        """Whether it takes no more."""

    @property
    def is_cancelled(self) -> bool:
        """Whether it was cancelled."""

    @property
    def is_finished(self) -> bool:
        """Whether it is closed, and nothing is left to read."""

@final
class ArgumentEvent:
    """What became known of one value of a call's arguments.

    An object or array comes twice: opened, and closed. A string comes in fragments, the last of which is final and may
    be empty. Any other value comes once. The arguments themselves, with the path (), are final at the end of a complete
    call; a call that is cut off or malformed never has that event.
    """

    @property
    def call(self) -> int:
        """The call's number in the message, from 0."""

    @property
    def path(self) -> tuple[str | int, ...]:
        """Keys and indices from the arguments to the value."""

    @property
    def kind(self) -> Literal["object", "array", "string", "number", "boolean", "null"]:
        """What the value is."""

    @property
    def text(self) -> str:
        """Of a string the fragment, decoded; of a number, true, false or null its JSON; else "".

        A lone surrogate is the six characters of its escape.
        """

    @property
    def is_final(self) -> bool:
        """Whether the value is whole, and nothing that may follow in a complete call changes it.

        Of two members by one name in an inner object both are reported, and the last counts, as in JSON. Two parameters
        by one name make the call malformed.
        """

    @property
    def start(self) -> int:
        """The first of the bytes of the call's arguments that it comes from. A string's fragments leave no gap."""

    @property
    def end(self) -> int:
        """The place after the last of them."""

    @property
    def pointer(self) -> str:
        """The path as RFC 6901 writes it, such as "/days/0"."""

    @property
    def json_path(self) -> str:
        """The path as RFC 9535 writes it, such as "$.days[0]"."""

class ArgumentReader:
    """Follows the arguments of one answer's calls while they stream, in every format. One thread at a time."""

    def __init__(self) -> None: ...
    def put(self, deltas: Delta | Iterable[Delta]) -> list[ArgumentEvent]:
        """Read deltas of one answer in their order.

        Returns:
            The events that they make. Deltas that are no part of a call make none.

        Raises:
            TypeError: Something else than deltas is given.
        """

class WireWriter:
    """The bytes of one response, from deltas, in the protocol that the client speaks.

    See docs/wire-shapes.md. Not for two threads at once.

    Args:
        protocol: "chat_completions", "completions", "responses" (all OpenAI's), "messages" (Anthropic's) or
            "open_inference" (Open Inference Protocol v2).
        model: The model's name in the response.
        id: The response's id; None: a random one in the protocol's form.
        created: When it was made, in Unix seconds; None: now.
        n: How many answers it has; 1 for responses and messages.
        stream: False: nothing is written until `body`, which gives the response in one piece.
        sse: Server-sent events; False: a JSON object a line, without what only an event stream has.
        include_usage: Send the usage in a chunk of its own (chat_completions, completions) or with the
            last response (open_inference); the other protocols always send it.
        reasoning_field: The name of reasoning in chat deltas and messages, whatever the deltas' own.
        reasoning_events: How responses sends reasoning: as a "summary", which all clients show, or as "text",
            which LangChain and Vercel's AI SDK do not.
        prompt_token_count: The prompt's length, if it is known; messages sends it at the start.
        extra: More members of each chunk or response: `system_fingerprint`, `service_tier`,
            `model_version`; for responses the request's own fields (`instructions`, `tools`, …).
        incomplete_calls: "forward" writes what came of a call that is cut off or malformed; "withhold" writes
            nothing of it, and each call in one piece once it is complete.

    Raises:
        ArgumentError: An option is none of its choices, or `extra` sets what the writer itself writes.
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
    ) -> None: ...
    def begin(self) -> bytes:
        """What comes before the first delta, possibly nothing; `write` does it if it was not done.

        Raises:
            StreamError: It was done, or the response has ended.
        """

    def write(self, deltas: Delta | Iterable[Delta], /) -> bytes:
        """The bytes of a delta, or of several that are ready together, which share chunks if they can.

        Returns:
            Whole frames; empty if the protocol has no words for it.

        Raises:
            ArgumentError: A delta is out of order: of a choice that `n` does not cover, after its
                choice's finish, of a call that is not open or not the next. Nothing has changed then.
            StreamError: The response has ended.
        """

    def drain(self, channel: DeltaChannel) -> bytes:
        """The bytes of all deltas that a channel has ready, none of which becomes a Python object.

        Never waits; `channel.is_finished` says whether there will be more.

        Raises:
            ArgumentError, StreamError: As of `write`; the deltas are gone then.
            ChannelCancelledError: The channel was cancelled.
            BaseException: The one given to the channel's `fail`, once the rest was read.
        """

    def end(self, usage: Mapping[str, Any] | None = None, *, stop_sequence: str | None = None) -> bytes:
        """The end of a stream.

        Args:
            usage: `prompt_tokens`, `completion_tokens`, `cached_tokens`, `reasoning_tokens`, and any measures
                under other names. Absent: the prompt as `prompt_token_count` says, the completion as the
                deltas' spans do.
            stop_sequence: The stop string that ended the text, if one did; messages sends it.

        Raises:
            StreamError: A choice has not finished, the response has ended, or is not streamed.
        """

    def body(self, usage: Mapping[str, Any] | None = None, *, stop_sequence: str | None = None) -> bytes:
        """The response in one piece, if `stream` is False; as `end` otherwise."""

    def fail(self, message: str, *, type: str | None = None, code: str | None = None) -> bytes:
        """The protocol's error, which ends the response; the body of an error if it is not streamed.

        Args:
            message: What went wrong, for the client to read.
            type: The protocol's word for it; None: its word for a server's fault.
            code: More of it, if the protocol has a place.
        """

    def fork(self) -> WireWriter:
        """A copy that writes on by itself: a response with the same id, from where this one stands.

        What it writes follows the bytes that this writer has written so far. If a `StreamBatch` writes with
        this writer, the copy is no batch's.

        Raises:
            StreamError: A step of a batch writes with this writer at the moment.
        """

    def snapshot(self, *, key: bytes = b"") -> bytes:
        """The state as bytes, for `restore` in this process or another one.

        Args:
            key: A secret of 16 to 64 bytes: without it no one makes bytes that `restore` takes with it.

        Raises:
            StreamError: A step of a batch writes with this writer at the moment.
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
    ) -> WireWriter:
        """A writer whose bytes follow those that the one of the snapshot has written.

        Args:
            snapshot: What `snapshot` returned. Without a key, only from those you trust.
            protocol, model, …: What that writer was made with. Its `id` and `created` are in the snapshot.
            key: That of `snapshot`.

        Raises:
            ArgumentError: The bytes are no snapshot, or damaged, or of another protocol or other options;
                or the key is another one.
        """

    def keep_alive(self) -> bytes:
        """What may be sent between two writes while nothing comes; clients skip it."""

    def add_logprobs(
        self,
        choice: int,
        entries: Iterable[
            tuple[str | bytes, float] | tuple[str | bytes, float, Iterable[tuple[str | bytes, float]]]
        ],
    ) -> None:
        """Hand over log-probabilities of an answer's next token ids, before the deltas that come from them.

        Args:
            choice: Which answer.
            entries: One for each token id, in order: the token as text or as bytes, its natural log
                probability, and the likeliest tokens of its place with theirs.

        Raises:
            ArgumentError: A value is NaN or above 0, or `n` does not cover the choice.
        """

    @property
    def protocol(self) -> str:
        """The protocol's name."""

    @property
    def id(self) -> str:
        """The response's id."""

    @property
    def created(self) -> int:
        """When it was made, in Unix seconds."""

    @property
    def has_begun(self) -> bool:
        """Whether the first bytes were asked for; an error before that can be a response of its own."""

    @property
    def has_ended(self) -> bool:
        """Whether it takes no more."""

class StreamRecipe:
    """What streams are made of; `unspool.parse_batch` reads with it."""

    def __init__(
        self,
        format: Format,
        options: dict[str, Any],
        tools: ToolSchemas | None = None,
        vocabulary: Vocabulary | None = None,
        prompt: str | Sequence[int] | None = None,
        starts_in_reasoning: bool | None = None,
        kept_reasoning: Format | None = None,
    ) -> None:
        """Collect what a stream needs.

        Args:
            options: The core's own options by name, those of `_stream_options`. A missing one has its default;
                other names are ignored.

        Raises:
            TypeError, ArgumentError: A value is of another type, out of bounds or no choice.
        """

    def parse(
        self,
        outputs: tuple[Any, ...],
        finish_reasons: str | tuple[str, ...],
        threads: int,
        reasoning_field: str,
    ) -> list[Message]:
        """Read whole outputs, each a text or token ids, with a stream for each; as of `parse_batch`."""

class _BatchColumn:
    """The buffer behind a view of a `BatchResult`."""

@final
class BatchResult:
    """What a step of a `StreamBatch` made ready.

    The views keep it alive. Its memory is used again once nothing holds it.
    """

    @property
    def slots(self) -> memoryview:
        """The slots of the step in its order, int32."""

    @property
    def ended(self) -> memoryview:
        """Those whose answer has ended, int32: a stop string or an end token came, or `finish` was called."""

    @property
    def data(self) -> memoryview:
        """The bytes of all slots, in the order of `slots`."""

    @property
    def offsets(self) -> memoryview:
        """Where each slot's bytes begin in `data`, int64; one more: where the last one's end."""

    def sse(self, slot: int, /) -> bytes:
        """The bytes that this slot's writer wrote; empty if nothing became certain, or it has no writer.

        Raises:
            ArgumentError: The slot was not in this step.
        """

    def deltas(self, slot: int) -> list[Delta]:
        """The deltas of a slot without a writer, or added with `deltas=True`; else none.

        Raises:
            ArgumentError: The slot was not in this step.
        """

    def __contains__(self, slot: int) -> bool: ...
    def __len__(self) -> int: ...

class StreamBatch:
    """The native base of `unspool.StreamBatch`; use that."""

    def __init__(self, threads: int, reasoning_field: str) -> None: ...
    def _add(
        self,
        recipe: StreamRecipe,
        writer: WireWriter | None,
        choice: int,
        deltas: bool,
        end_ids: Sequence[int] | None,
    ) -> int: ...
    def step(self, slots: Any, ids: Any, offsets: Any = None, /) -> BatchResult:
        """Feed each slot its token ids.

        Args:
            slots: Which streams, each once: a one-dimensional array of int32 (or int64) in the CPU's memory, such as NumPy's or
                PyTorch's, or a list. Arrays of int32 are read in place.
            ids: A token id for each slot; with `offsets`, the ids of all slots, one after the other.
            offsets: Where each slot's ids begin in `ids`, and, last, the number of ids: one more than slots.

        Raises:
            TypeError, ArgumentError: An argument is bad, a slot is free or stands there twice, or a slot's id is one that
                the tokenizer refuses.
            StreamError: A slot has finished, or another thread steps this batch. Nothing has changed in either case.
        """

    def finish(self, slot: int, finish_reason: str = "stop") -> BatchResult:
        """End an answer: a result with this slot alone, its last deltas or bytes.

        Args:
            finish_reason: "stop", "length", "error" or "cancelled".

        Raises:
            ArgumentError: The slot is free.
            StreamError: It has finished.
        """

    def fork(
        self, slot: int, *, writer: WireWriter | None = None, choice: int = 0, deltas: bool = False
    ) -> int:
        """Copy a slot's stream into a slot of its own, where it reads on by itself: for beams and best-of.

        Args:
            writer: What makes the copy's bytes, such as `writer.fork()` of the slot's. None: the copy keeps deltas.
            choice, deltas: As of `add`.

        Returns:
            The copy's slot: the lowest number that is free.

        Raises:
            ArgumentError: The slot is free, or another slot has this writer and choice.
            StreamError: The writer's response has ended, or another batch writes with it.
        """

    def rollback(self, slot: int, count: int) -> BatchResult:
        """Take a slot's last token ids back, as `TokenStreamer.rollback` does; a result with this slot alone.

        Args:
            count: How many ids, at most the `rollback_window` that the slot was added with.

        Raises:
            ArgumentError: The slot is free, the window does not hold so many ids, or the slot has a writer: its bytes
                are not taken back.
            StreamError: The slot has finished.
        """

    def remove(self, slot: int) -> None:
        """Free a slot, finished or not.

        Raises:
            ArgumentError: It is free.
        """

    def _message(self, slot: int, reasoning_field: str) -> Message: ...
    def stop_reason(self, slot: int) -> str | None:
        """The stop string that ended the slot's text."""

    def token_count(self, slot: int) -> int:
        """How many token ids of output the slot has read."""

    def __len__(self) -> int:
        """How many slots are taken."""

class TokenStreamer:
    """The native base of `unspool.Parser` and `unspool.TokenStreamer`; use those."""

    def __init__(
        self,
        recipe: StreamRecipe,
        reasoning_field: str = "reasoning_content",
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
        """Feed a chunk, get the deltas that became certain.

        Args:
            text: A str, or UTF-8 bytes that may be cut anywhere.
            tokens: Token ids; alone (with a tokenizer), or those that produced the text. The text may come
                later than its ids, and hold the text of special tokens or not.
            finish_reason: Ends the stream, as `finish` does.

        Returns:
            Deltas, possibly none.

        Raises:
            TypeError, ArgumentError: A bad argument; nothing has changed then.
            StreamError: The stream has ended.
        """

    def put(self, ids: SupportsIndex | Sequence[int] | Any, /) -> list[Delta]:
        """Feed token ids, get the deltas that became certain; `parse_chunk(tokens=ids)`."""

    def fork(self, *, channel: DeltaChannel | None = None, choice: int | None = None) -> Self:
        """A copy of the stream, which reads on by itself: for beams, best-of and drafts that may be dropped.

        It is of the same class and has the message so far. Its deltas are those that a fresh stream of the
        same input would give from here on. A call that both write gets the same id in both.

        Args:
            channel: Where the fork's deltas go; needed if this stream's go into one. What this stream has not
                sent yet stays with it.
            choice: Which of the request's answers the fork is; None: the same one.

        Raises:
            ArgumentError: This stream has a channel and the fork has none, or the fork has a channel and
                a `rollback_window`.
        """

    def _state(self) -> bytes:
        """What `Parser.snapshot` seals."""

    def _restore_state(self, state: bytes) -> None:
        """Take the place of a stream that has read nothing."""

    def rollback(self, count: int, /) -> list[Delta]:
        """Take the last token ids back: the next `put` follows the ids before them, as in a fresh stream.

        Drop the deltas of each `put` that had one of these ids. If the first of those puts had earlier ids too,
        the deltas of these are returned, and stand in place of what that put gave.

        Args:
            count: How many ids, at most `rollback_window`. Ids after a stop string count too.

        Raises:
            ArgumentError: The window does not hold so many ids, or the stream has none.
            StreamError: The stream has ended.
        """

    @property
    def region(self) -> Literal["content", "reasoning", "tool_call"]:
        """What is open now; takes constant time."""

    @property
    def held_bytes(self) -> int:
        """How many bytes were received that no delta has shown yet: the length of `held`'s text."""

    @property
    def held(self) -> tuple[bytes, HeldReason]:
        """What was received and no delta has shown yet, and why it waits.

        The text is the end of the input, without what the format reads as markup. Inside a call whose name
        has been emitted it is as the body's grammar holds it: character references are decoded, a Python
        value is written as JSON. What a detokenizer holds (token ids alone) is not in it.

        Why: "none"; "character": it is unfinished; "marker": it may be the beginning of one
        (`held_markers`); "space": markup or text, as what follows; "header": once whole, it decides what
        follows; "call": a call or content; "name": a call whose name is not certain; "key": a parameter's
        name; "value": its type or end is open; "separator": it counts if a value follows; "closing_tag": it
        ends the value or is part of it, what follows decides; "ids": its token ids have yet to come.
        """

    @property
    def held_markers(self) -> list[str]:
        """The markers that what is held may become, if "marker" is the reason.

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
        """The stop string that ended the text; None if none has."""

    @property
    def token_count(self) -> int:
        """How many token ids of output were read, alone or beside text.

        The prompt's do not count. If ids come alone, those after a stop string do not count either: no delta
        shows them.
        """

    @property
    def _has_prompt(self) -> bool: ...
    def _message(self, deltas: tuple[Delta, ...], reasoning_field: str) -> Message: ...
    def _audit(self) -> list[tuple[str, str]]: ...
    def labels(self) -> Labels:
        """What each token id is, as far as that is certain; of all ids after the end.

        A label that is certain never changes.

        Raises:
            ArgumentError: The stream was made without `labels=True`.
        """

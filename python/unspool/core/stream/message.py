"""`Message`, the whole answer, and its parts."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from unspool._core import Delta, TokenStreamer, ToolSchemas
from unspool.core.short_repr import short_fields
from unspool.core.stream.labels import Labels
from unspool.errors import ArgumentError

if TYPE_CHECKING:
    from unspool.core.schema.schema_check import Violation

__all__ = ["MalformedText", "Message", "TokenCounts", "ToolCall"]

T = TypeVar("T")
CallStatus = Literal["complete", "incomplete", "malformed"]


@dataclass(frozen=True)
class ToolCall:
    """One call; run it only when its status is "complete", and check `violations` first.

    Attributes:
        arguments: JSON text: an object if complete, a prefix of one if incomplete, the text read so far if
            malformed.
        repairs: With `repair=True`: the repairs that parsing needed.
        written_as: With `also`: the name of the format in which the model wrote the call, if it belongs to
            another family. None: the stream's own format.

    Args:
        schema: The JSON Schema of the tool's parameters, as JSON text, or the request's tools; used by
            `violations`.
    """

    id: str
    name: str
    arguments: str
    status: CallStatus
    repairs: tuple[str, ...] = ()
    written_as: str | None = None
    #: Not a field: equality, `repr` and `asdict` ignore it, and `replace` keeps it.
    schema: InitVar[ToolSchemas | str | None] = None

    def __post_init__(self, schema: ToolSchemas | str | None) -> None:
        object.__setattr__(self, "schema", schema)

    def __repr__(self) -> str:
        return short_fields(self, ("id", "name", "arguments", "status", "repairs", "written_as"))

    def __getstate__(self) -> dict[str, Any]:
        """The state for `copy` and `pickle`, with the schema as text."""
        return {
            **{field.name: getattr(self, field.name) for field in fields(self)},
            "schema": self.schema_text(),
        }

    def schema_text(self) -> str | None:
        """The JSON Schema of the tool's parameters; None if the tools, or this one, were not given."""
        schema = vars(self).get("schema")
        return schema.schema(self.name) if isinstance(schema, ToolSchemas) else schema

    @property
    def is_complete(self) -> bool:
        """Whether the status is "complete": the model wrote the whole call. It may violate its schema."""
        return self.status == "complete"

    @functools.cached_property
    def args(self) -> dict[str, Any]:
        """The arguments as a dict, parsed at the first use.

        If the call is not complete, the dict has only the members that are final. Model output never raises here.
        """
        import json  # not before: importing unspool stays light

        try:
            value = json.loads(self.arguments)
        except ValueError:
            return _final_members(self.arguments)
        except RecursionError:
            return {}
        return value if isinstance(value, dict) else {}

    def as_(self, kind: type[T]) -> T:
        """Parse the arguments as a type of yours, with the type's own package.

        Args:
            kind: A pydantic model or dataclass (parsed by pydantic), or a msgspec struct, dataclass or TypedDict
                (parsed by msgspec).

        Raises:
            ToolCallError: The arguments do not fit the type, or the call is not complete. The message names the
                place, so it can be sent to the model.
            UnspoolError: msgspec is missing.
        """
        from unspool.core.stream.typed_arguments import read_as

        value: T = read_as(self.arguments, kind, f"the arguments of '{self.name}'")
        return value

    @functools.cached_property
    def violations(self) -> tuple[Violation, ...]:
        """The places where the arguments violate the schema of their tool; empty if they fit.

        There are at most 20 violations of the schema, and before them at most 20 of the rule "json": one for each
        key that an object has twice. Arguments that are not JSON, such as those of an incomplete call, have only
        one violation, of the rule "json". Without tools, or for a tool that was not offered, only the rule "json"
        is checked. Computed at the first use. Model output never raises here.

        Raises:
            UnspoolError: There is a schema, and jsonschema is missing (`pip install 'unspool[constrain]'`).
        """
        from unspool.core.schema.schema_check import check_arguments

        return check_arguments(self.arguments, self.schema_text())

    def to_openai(self) -> dict[str, Any]:
        """The call in the form of a chat completion message."""
        return {
            "id": self.id,
            "type": "function",
            "function": {"name": self.name, "arguments": self.arguments},
        }


STRAY = "the marker belongs to nothing"  # csrc/parser/events.h: kStray


@dataclass(frozen=True)
class MalformedText:
    """Raw text that looked like a call, or a marker that belongs to nothing.

    Attributes:
        text: The text that could not be parsed. If the call had already been emitted in part, only the text from
            the error on.
        reason: What is wrong with it.
        index: The index of the broken call. None: no call was emitted.
    """

    text: str
    reason: str
    index: int | None

    @property
    def in_content(self) -> bool:
        """Whether malformed text is also in the content: no call was emitted, and it is not only a marker."""
        return self.index is None and self.reason != STRAY

    def __repr__(self) -> str:
        return short_fields(self, ("text", "reason", "index"), always=("text",))


@dataclass(frozen=True)
class TokenCounts:
    """The number of token ids in each region; a marker counts towards the region that it opens or closes."""

    content: int = 0
    reasoning: int = 0
    tool_calls: int = 0

    @property
    def total(self) -> int:
        """The number of all token ids."""
        return self.content + self.reasoning + self.tool_calls


@dataclass(frozen=True)
class Message:
    """A whole answer.

    The native core creates instances (csrc/bindings/message.cpp) and depends on the fields' names.

    Attributes:
        content: Text for the user; may be empty.
        reasoning: The model's reasoning; may be empty.
        tool_calls: The calls, in the order of the output.
        finish_reason: "tool_calls" if there are calls, all are complete, and the model stopped.
        malformed: Texts that looked like a call but could not be parsed.
        dropped: Calls that were not emitted because of `unknown_tools` or `parallel_tool_calls`.
        token_counts: Token ids by region; zeros if the input was text only.
        deltas: The deltas of the last step.
        extra: Further fields of a response template, by name.
        audit: With `audit=True`: the fate of every byte of the output, in order.
        labels: With `labels=True`: the label of each token id.
        hint: The format that would read a call of an offered tool in the content, if this one read none
            (`also=`). Only `finish` and `parse` look for it.
    """

    content: str
    reasoning: str
    tool_calls: tuple[ToolCall, ...]
    finish_reason: str | None
    malformed: tuple[MalformedText, ...] = ()
    dropped: tuple[MalformedText, ...] = ()
    token_counts: TokenCounts = TokenCounts()
    deltas: tuple[Delta, ...] = ()
    audit: tuple[tuple[str, str], ...] = ()
    reasoning_field: str = "reasoning_content"
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    labels: Labels | None = field(default=None, hash=False)
    hint: str | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        """A short form with the text and the calls; `deltas`, `audit`, `labels` and others are left out."""
        names = ("content", "reasoning", "tool_calls", "finish_reason", "malformed", "dropped", "hint")
        return short_fields(self, names, always=("content", "finish_reason"))

    def _repr_html_(self) -> str:
        from unspool.core.stream.message_html import message_html  # a notebook asks for it

        return message_html(self)

    @property
    def incomplete(self) -> bool:
        """Whether a call was cut off before its end."""
        return any(call.status == "incomplete" for call in self.tool_calls)

    def to_openai(self, *, incomplete_calls: Literal["forward", "withhold"] = "withhold") -> dict[str, Any]:
        """The message of a chat completion's choice.

        Args:
            incomplete_calls: "withhold": only complete calls, since clients assume that every call is
                complete; "forward": all calls.

        Raises:
            ArgumentError: `incomplete_calls` is neither.
        """
        if incomplete_calls not in ("forward", "withhold"):
            raise ArgumentError(f"incomplete_calls is '{incomplete_calls}'; use 'forward' or 'withhold'")
        message: dict[str, Any] = {"role": "assistant", "content": self.content or None}
        if self.reasoning:
            message[self.reasoning_field] = self.reasoning
        calls = [call for call in self.tool_calls if call.is_complete or incomplete_calls == "forward"]
        if calls:
            message["tool_calls"] = [call.to_openai() for call in calls]
        return message


def _final_members(text: str) -> dict[str, Any]:
    """The final members of arguments that are cut off."""
    from unspool.core.stream.partial_arguments import PartialArguments

    partial = PartialArguments()
    partial.put(
        [Delta("tool_call_begin", index=0, id="", name=""), Delta("tool_call_arguments", index=0, text=text)]
    )
    return partial.final()


def build_message(
    streamer: TokenStreamer, deltas: list[Delta], reasoning_field: str = "reasoning_content"
) -> Message:
    """Build a native streamer's message."""
    return streamer._message(deltas, reasoning_field)


_DELTA_FIELDS = (
    "text", "index", "id", "name", "status", "finish_reason", "reason", "token_span", "token_ids", "reasoning_field",
    "choice",
)  # fmt: skip


def _restore_delta(kind: str, *values: Any) -> Delta:
    """Rebuild a delta from its fields, for pickle."""
    return Delta(kind, **dict(zip(_DELTA_FIELDS, values, strict=True)))

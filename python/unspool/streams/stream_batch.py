"""Parses one step of an inference engine, for all running requests, in one call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from unspool._core import Format, ToolSchemas, WireWriter
from unspool._core import StreamBatch as NativeStreamBatch
from unspool.core.stream.stream_recipe import recipe_options, with_defaults
from unspool.core.stream.tool_schemas import compile_tools
from unspool.errors import ArgumentError
from unspool.formats.format_file import FormatFile
from unspool.streams.choose_recipe import choose_recipe

if TYPE_CHECKING:
    from unspool.core.stream.message import Message

__all__ = ["StreamBatch"]


class StreamBatch(NativeStreamBatch):
    """The streams of an engine's running requests, fed together.

    `add` creates a stream and returns its slot, a small integer. `step(slots, ids)` feeds each slot its token
    ids and returns a `BatchResult`: the bytes for each client, and the slots whose answers have ended.
    `finish` ends an answer, and `remove` frees its slot for another request.

    Only one thread may call it at a time; a concurrent call raises `StreamError`.

    Args:
        tokenizer: A tokenizer or `Vocabulary`, for all streams.
        format: The name of a format, a `FormatFile`, or a compiled `Format`; see `Parser`.
        end_ids: Token ids that end an answer, in addition to the format's: the model's `eos_token_id`.
        reasoning_field: The field that holds reasoning in the deltas.
        options: Options of `Parser`, for all streams; `add` can override them.

    Raises:
        UnknownFormatError, ArgumentError, VocabularyError: As in `Parser`.
    """

    def __init__(
        self,
        tokenizer: Any,
        format: str | FormatFile | Format,
        *,
        end_ids: Iterable[int] | None = None,
        **options: Any,
    ) -> None:
        if tokenizer is None:
            raise ArgumentError("tokenizer is None; a batch of token ids needs one")
        self._format = format
        self._options = given = with_defaults({**options, "tokenizer": tokenizer})
        recipe = choose_recipe(format, None, tokenizer, recipe_options(given))
        recipe.native.for_request(None, given["prompt"])  # raises if it is invalid
        self._reasoning_field = given["reasoning_field"]
        self._end_ids = None if end_ids is None else list(end_ids)
        super().__init__(self._reasoning_field)

    def add(
        self,
        tools: Iterable[Any] | ToolSchemas | None = None,
        *,
        prompt: str | Sequence[int] | None = None,
        writer: WireWriter | None = None,
        choice: int = 0,
        deltas: bool = False,
        **options: Any,
    ) -> int:
        """Create a stream for a request.

        Args:
            tools, prompt: See `Parser`.
            writer: Writes the stream's bytes, in any of its protocols. The batch calls only `write`; the
                caller calls `begin`, `end`, `fail`, `keep_alive` and `add_logprobs`. Answers of one response
                share a writer. None: the stream collects deltas.
            choice: The answer's index in the writer's response.
            deltas: Also collect deltas for `BatchResult.deltas`.
            options: Options of `Parser`; they override the batch's.

        Returns:
            The slot: the lowest free number.

        Raises:
            TypeError, ArgumentError: An option is invalid, or another slot has this writer and choice.
            StreamError: The writer's response has ended, or another batch uses the writer.
        """
        given = with_defaults({**self._options, **options}) if options else self._options
        if prompt is None:
            prompt = given["prompt"]
        schemas = compile_tools(tools)
        recipe = choose_recipe(self._format, schemas, given["tokenizer"], recipe_options(given))
        return self._add(recipe.native, schemas, prompt, writer, choice, deltas, self._end_ids)

    def message(self, slot: int) -> Message:
        """The message of a slot so far, without deltas.

        Raises:
            ArgumentError: The slot is free.
        """
        return self._message(slot, self._reasoning_field)

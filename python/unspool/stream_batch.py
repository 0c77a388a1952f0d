"""An engine's step in one call: the streams of all its running requests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from unspool import _core
from unspool._core import Format, ToolSchemas, WireWriter
from unspool.errors import ArgumentError
from unspool.format_files import FormatFile
from unspool.message import Message
from unspool.parse_batch import read_thread_count
from unspool.stream_recipe import make_recipe, with_defaults

__all__ = ["StreamBatch"]


class StreamBatch(_core.StreamBatch):
    """The streams of an engine's running requests, fed together.

    `add` makes a request's stream and returns its slot, a small number. `step(slots, ids)` feeds each slot its token ids and
    returns a `BatchResult`: the bytes for each client, and which answers have ended. `finish` ends an answer, `remove`
    frees its slot for the next request.

    One thread at a time; another one gets a `StreamError`.

    Args:
        tokenizer: A tokenizer or `Vocabulary`, for all streams.
        format: The name of a format, a `FormatFile`, or a compiled `Format`; as of `Parser`.
        threads: How many threads may share a step. A step is shared if it has 384 ids for each thread or more.
        end_ids: Token ids that end an answer, besides those of the format: the model's `eos_token_id`.
        reasoning_field: The name of reasoning in the deltas.
        options: Those of `Parser`, for all streams; `add` may override them.

    Raises:
        UnknownFormatError, ArgumentError, VocabularyError: As of `Parser`.
    """

    def __init__(
        self,
        tokenizer: Any,
        format: str | FormatFile | Format,
        *,
        threads: int = 1,
        end_ids: Iterable[int] | None = None,
        **options: Any,
    ) -> None:
        if tokenizer is None:
            raise ArgumentError("tokenizer is None; a batch of token ids needs one")
        self._format = format
        self._options = {**options, "tokenizer": tokenizer}
        given = with_defaults(format, None, self._options)
        make_recipe(given)  # a bad option raises here
        self._reasoning_field = given["reasoning_field"]
        self._end_ids = None if end_ids is None else list(end_ids)
        super().__init__(read_thread_count(threads), self._reasoning_field)

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
        """Make a request's stream.

        Args:
            tools, prompt: As of `Parser`.
            writer: What makes the stream's bytes, in any of its protocols. The batch writes the deltas with it; `begin`,
                `end`, `fail`, `keep_alive` and `add_logprobs` stay the caller's. Answers of one response share a
                writer. None: the stream keeps deltas.
            choice: Which of the writer's answers this is.
            deltas: Keep deltas beside the bytes, for `BatchResult.deltas`.
            options: Those of `Parser`, instead of the batch's.

        Returns:
            The slot: the lowest number that is free.

        Raises:
            TypeError, ArgumentError: An option is bad, or the writer has this answer already.
            StreamError: The writer's response has ended, or another batch writes with it.
        """
        if prompt is not None:
            options["prompt"] = prompt
        recipe, _, _ = make_recipe(with_defaults(self._format, tools, {**self._options, **options}))
        return self._add(recipe, writer, choice, deltas, self._end_ids)

    def message(self, slot: int) -> Message:
        """The whole message of a slot so far, without deltas.

        Raises:
            ArgumentError: The slot is free.
        """
        return self._message(slot, self._reasoning_field)

"""Parses one step of an inference engine, for all running requests, in one call."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from unspool._core import Format, ToolSchemas, WireWriter
from unspool._core import StreamBatch as NativeStreamBatch
from unspool.core.needs import needs
from unspool.core.records import require_count
from unspool.core.stream.stream_recipe import recipe_options, with_defaults
from unspool.core.stream.tool_schemas import compile_tools
from unspool.core.vocabulary.vocabulary_sources import from_tokenizer
from unspool.errors import ArgumentError, StreamError
from unspool.formats.choose_format import choose_format
from unspool.formats.format_file import FormatFile, get_format
from unspool.streams.choose_recipe import choose_recipe

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from unspool._core import BatchResult
    from unspool.core.stream.message import Message
    from unspool.core.stream.parser_options import SharedOptions
    from unspool.writing.engines.matcher import GrammarMatcher
    from unspool.writing.grammar_result import Grammar

__all__ = ["StreamBatch"]

_step = NativeStreamBatch.step  # looked up once: a step of few ids takes half a microsecond


class StreamBatch(NativeStreamBatch):
    """The streams of an engine's running requests, fed together.

    `add` creates a stream and returns its slot, a small integer. `step(slots, ids)` feeds each slot its token
    ids and returns a `BatchResult`: the bytes for each client, and the slots whose answers have ended.
    `finish` ends an answer, and `remove` frees its slot for another request. `add(grammar=)` constrains an answer,
    and `masks(slots)` returns which ids may come next.

    Only one thread may call it at a time; a concurrent call raises `StreamError`.

    Args:
        tokenizer: A tokenizer or `Vocabulary`, for all streams.
        format: The name of a format, a `FormatFile`, or a compiled `Format`; see `Parser`.
        threads: The number of threads that compute the masks of grammars. `step` runs in the caller's thread.
        end_ids: Token ids that end an answer, in addition to the format's: the model's `eos_token_id`.
        prompt, options: Options of `Parser`, for all streams; `add` can override them.

    Raises:
        UnknownFormatError, ArgumentError, VocabularyError: As in `Parser`.
    """

    def __init__(
        self,
        tokenizer: Any,
        format: str | FormatFile | Format,
        *,
        threads: int = 1,
        end_ids: Iterable[int] | None = None,
        prompt: str | Sequence[int] | None = None,
        **options: Unpack[SharedOptions],
    ) -> None:
        if tokenizer is None:
            raise ArgumentError("tokenizer is None; a batch of token ids needs one")
        self._format = format
        self._options = all_options = with_defaults({**options, "tokenizer": tokenizer, "prompt": prompt})
        recipe = choose_recipe(format, None, tokenizer, recipe_options(all_options))
        recipe.native.for_request(None, all_options["prompt"])  # raises if it is invalid
        self._reasoning_field = all_options["reasoning_field"]
        self._end_ids = None if end_ids is None else list(end_ids)
        require_count("threads", threads)
        self._threads = threads
        self._words = (len(from_tokenizer(tokenizer)) + 31) // 32  # in one mask
        self._matchers: dict[int, GrammarMatcher] = {}
        self._in_use = threading.Lock()
        super().__init__(self._reasoning_field)

    def add(
        self,
        tools: Iterable[Any] | ToolSchemas | None = None,
        *,
        prompt: str | Sequence[int] | None = None,
        writer: WireWriter | None = None,
        choice: int = 0,
        deltas: bool = False,
        grammar: GrammarMatcher | Grammar | str | None = None,
        **options: Unpack[SharedOptions],
    ) -> int:
        """Create a stream for a request.

        Args:
            tools, prompt: See `Parser`.
            writer: Writes the stream's bytes, in any of its protocols. The batch calls only `write`; the
                caller calls `begin`, `end`, `fail`, `keep_alive` and `add_logprobs`. Answers of one response
                share a writer. None: the stream collects deltas.
            choice: The answer's index in the writer's response.
            deltas: Also collect deltas for `BatchResult.deltas`.
            grammar: Constrains the answer. A `GrammarMatcher` is forked, so that requests share a compiled grammar.
                Anything that a `GrammarMatcher` can be made of is compiled for this request, with the batch's
                tokenizer and end tokens.
            options: Options of `Parser`; they override the batch's.

        Returns:
            The slot: the lowest free number.

        Raises:
            TypeError, ArgumentError: An option is invalid, another slot has this writer and choice, the grammar cannot
                be parsed or has another vocabulary, or there is a `rollback_window` and the grammar cannot roll back.
            ImportError: A grammar needs llguidance, which is missing.
            StreamError: The writer's response has ended, or another batch uses the writer.
        """
        all_options = with_defaults({**self._options, **options}) if options else self._options
        if prompt is None:
            prompt = all_options["prompt"]
        schemas = compile_tools(tools)
        recipe = choose_recipe(self._format, schemas, all_options["tokenizer"], recipe_options(all_options))
        matcher = None if grammar is None else self._make_matcher(grammar, all_options)
        slot = self._add(recipe.native, schemas, prompt, writer, choice, deltas, self._end_ids)
        if matcher is not None:
            self._matchers[slot] = matcher
        return slot

    def _make_matcher(
        self, grammar: GrammarMatcher | Grammar | str, options: dict[str, Any]
    ) -> GrammarMatcher:
        from unspool.writing.engines.matcher import GrammarMatcher

        vocabulary = from_tokenizer(options["tokenizer"])
        if isinstance(grammar, GrammarMatcher):
            matcher = grammar.fork()
            if matcher.vocabulary is not vocabulary:
                raise ArgumentError(
                    "grammar is a matcher of another vocabulary; make it with the batch's tokenizer"
                )
        else:
            format, _ = choose_format(self._format, options["tokenizer"], options["reasoning"])
            file = get_format(format) if isinstance(format, str) else format
            ends = file.facts.ends if isinstance(file, FormatFile) else ()
            of_format = [id for id, text in vocabulary.added_tokens.items() if text in ends]
            matcher = GrammarMatcher(grammar, vocabulary, end_ids=[*of_format, *(self._end_ids or ())])
        if options["rollback_window"] and not matcher.can_roll_back:
            raise ArgumentError(
                "rollback_window: this grammar cannot go back, since its Lark has max_tokens= or stop="
            )
        return matcher

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
            StreamError: A slot's grammar does not allow an id, a slot has finished, or another thread is stepping this
                batch. The state is unchanged then.
        """
        if not self._matchers:
            return _step(self, slots, ids, offsets)
        with self._alone():
            return self._constrained_step(slots, ids, offsets)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if not self._in_use.acquire(blocking=False):
            raise StreamError("this batch is in a call, in another thread; use it before or after that")
        try:
            yield
        finally:
            self._in_use.release()

    def _constrained_step(self, slots: Any, ids: Any, offsets: Any) -> BatchResult:
        each, new = _numbers(slots), _numbers(ids)
        places = range(len(new) + 1) if offsets is None else _numbers(offsets)
        taken = [
            (slot, self._matchers[slot], new[begin:end])
            for slot, (begin, end) in zip(each, pairwise(places), strict=False)
            if slot in self._matchers
        ]
        for slot, matcher, its_ids in taken:
            valid = matcher.validate(its_ids)
            if valid < len(its_ids):
                raise StreamError(
                    f"slot {slot}: the grammar does not allow id {its_ids[valid]}; apply masks() before you choose, or "
                    "finish(slot, 'error')"
                )
        result = _step(self, slots, ids, offsets)
        for _, matcher, its_ids in taken:
            matcher.advance(its_ids)  # if it reaches a limit now, the next call reports it
        return result

    def matcher(self, slot: int) -> GrammarMatcher | None:
        """Return the grammar matcher of a slot, for `forced`, `validate` and `is_ended`; None without a grammar.

        The batch's `step`, `rollback` and `fork` advance it, so do not call its `take`.

        Raises:
            ArgumentError: The slot is free.
        """
        self.token_count(slot)
        return self._matchers.get(slot)

    def masks(self, slots: Any, bitmask: Any = None, *, drafts: Sequence[Sequence[int]] | None = None) -> Any:
        """Compute which ids each slot's grammar allows next, in the batch's threads and without the GIL.

        Args:
            slots: The slots, each once: a list or an array, as in `step`.
            bitmask: Writable int32 array of shape (rows, words), as in `GrammarMatcher.fill`. None: a new NumPy array
                with as many rows as needed, of ceil(vocabulary / 32) words.
            drafts: Token ids that a draft model proposes, one sequence for each slot. The rows of a slot follow those
                of the slot before: one row before each of its draft ids, and one after the last. Rows after a draft id
                that the grammar does not allow permit every id.

        Returns:
            The bitmask. Without drafts, row i belongs to the i-th slot of `slots`. A slot without a grammar permits
            every id; an answer whose grammar has ended permits only end tokens.

        Raises:
            ArgumentError: A slot is free or repeated, or the bitmask is read-only, has another type or too few rows.
            StreamError: A grammar has reached a limit of llguidance (the message has the row), or another thread is
                using this batch.
        """
        with self._alone():
            return self._fill_masks(slots, bitmask, drafts)

    def _fill_masks(self, slots: Any, bitmask: Any, drafts: Sequence[Sequence[int]] | None) -> Any:
        with needs("constrain"):
            import numpy as np

        from unspool.writing.engines.bitmask import read_bitmask
        from unspool.writing.engines.matcher import GrammarMatcher

        each = _numbers(slots)
        proposed = [()] * len(each) if drafts is None else drafts
        if len(proposed) != len(each):
            raise ArgumentError(
                f"there are {len(each)} slots and {len(proposed)} lists of drafts; pass one for each"
            )
        row_count = len(each) + sum(map(len, proposed))
        if bitmask is None:
            bitmask = np.empty((row_count, self._words), np.int32)
        target = read_bitmask(bitmask)
        if len(target) < row_count:
            raise ArgumentError(f"bitmask has {len(target)} rows; {row_count} are needed")
        row, matchers, rows = 0, list[GrammarMatcher](), list[int]()
        for slot, ids in zip(each, proposed, strict=True):
            ahead = self._matchers.get(slot) or self.matcher(slot)
            if ahead is not None:
                matchers.append(ahead)
                rows.append(row)
            for at, id in enumerate(ids, row + 1):
                after = None if ahead is None else ahead.fork()
                if after is None or not after.advance((id,)):
                    break
                matchers.append(after)
                rows.append(at)
                ahead = after
            row += 1 + len(ids)
        if len(rows) < row_count:
            target[np.setdiff1d(np.arange(row_count), rows)] = -1
        GrammarMatcher.fill_batch(matchers, target, rows, threads=self._threads)
        return bitmask

    def fork(
        self, slot: int, *, writer: WireWriter | None = None, choice: int = 0, deltas: bool = False
    ) -> int:
        """Copy a slot's stream, and its place in its grammar, into a new slot that continues independently.

        Args:
            writer: The copy's writer, such as a `fork()` of the slot's. None: the copy collects deltas.
            choice, deltas: As in `add`.

        Returns:
            The new slot: the lowest free number.

        Raises:
            ArgumentError: The slot is free, or another slot has this writer and choice.
            StreamError: The writer's response has ended, or another batch uses the writer.
        """
        with self._alone():
            copy = super().fork(slot, writer=writer, choice=choice, deltas=deltas)
            if slot in self._matchers:
                self._matchers[copy] = self._matchers[slot].fork()
            return copy

    def rollback(self, slot: int, count: int) -> BatchResult:
        """Undo a slot's last token ids, as `TokenStreamer.rollback` does, also in its grammar.

        Args:
            count: How many ids, at most the slot's `rollback_window`.

        Returns:
            A result with this slot only.

        Raises:
            ArgumentError: The slot is free, the window holds fewer ids, or the slot has a writer, whose bytes
                cannot be undone.
            StreamError: The slot has finished.
        """
        with self._alone():
            result = super().rollback(slot, count)
            if slot in self._matchers:
                self._matchers[slot].rollback(count)
            return result

    def remove(self, slot: int) -> None:
        """Free a slot, finished or not.

        Raises:
            ArgumentError: The slot is free.
        """
        super().remove(slot)
        self._matchers.pop(slot, None)

    def message(self, slot: int) -> Message:
        """The message of a slot so far, without deltas.

        Raises:
            ArgumentError: The slot is free.
        """
        return self._message(slot, self._reasoning_field)


def _numbers(column: Any) -> list[int]:
    """Convert a list or an array to a list."""
    if not hasattr(column, "tolist") and hasattr(column, "__dlpack__"):
        with needs("constrain"):
            import numpy as np

        column = np.from_dlpack(column)
    numbers: list[int] = column.tolist() if hasattr(column, "tolist") else list(column)
    return numbers

"""Computes which ids a grammar allows next, with llguidance and this package's vocabularies.

grammar ── GrammarMatcher(grammar, tokenizer) ── fork() ─► one state for each request
                                                             fill ─► mask ─► the model's id ─► take
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

from unspool.core.fork_safety import in_child
from unspool.core.needs import needs
from unspool.core.records import require_count
from unspool.core.vocabulary.vocabulary_sources import from_tokenizer
from unspool.errors import ArgumentError, StreamError
from unspool.writing.engines.bitmask import read_bitmask, read_row
from unspool.writing.engines.large_stack import on_large_stack
from unspool.writing.engines.token_trie import llguidance_module, token_trie
from unspool.writing.grammar_result import Grammar

if TYPE_CHECKING:
    from unspool.writing.engines.bitmask import Rows

__all__ = ["GrammarMatcher"]

# Without this option, a matcher tokenizes the text that must follow, and allows only that tokenization. The model
# knows better how to tokenize its text.
_OPTIONS = '%llguidance {"no_forcing": true}\n'

# Maximum number of alternatives in one place; llguidance's default is lower, and is exceeded only in the middle of an
# answer. The largest schema has 3,000 alternatives, and some formats have several ways to write each.
_MAX_ITEMS = 40_000


class GrammarMatcher:
    """One answer's position in a grammar: it knows the token ids that may come next.

    Compile a grammar once, and `fork()` the matcher for each request. Use a matcher in one thread at a time.

    Args:
        grammar: A `Grammar` of syntax "lark", or text in llguidance's dialect of Lark, in which a token is written as
            `<[id]>`.
        tokenizer: The model's tokenizer, or a `Vocabulary`. Its first matcher takes about a second, for a table that is
            cached.
        end_ids: Ids that end an answer, such as the model's `eos_token_id`. They are allowed where the grammar may
            end.

    Raises:
        ArgumentError: The grammar has another syntax, cannot be parsed, or is too large.
        ImportError: llguidance or NumPy is missing.
        VocabularyError: As in `Parser`.
    """

    def __init__(self, grammar: str | Grammar, tokenizer: Any, *, end_ids: Iterable[int] = ()) -> None:
        with needs("constrain"):
            import numpy as np

        if isinstance(grammar, Grammar):
            if grammar.syntax != "lark":
                raise ArgumentError(f"the grammar's syntax is '{grammar.syntax}'; make it with syntax='lark'")
            grammar = grammar.text
        #: The tokenizer's vocabulary.
        self.vocabulary = from_tokenizer(tokenizer)
        self._trie, self._size = token_trie(self.vocabulary), len(self.vocabulary)
        self._end_ids = frozenset(map(operator.index, end_ids))
        if min(self._end_ids, default=0) < 0:
            raise ArgumentError(f"end_ids has {min(self._end_ids)}; an id is 0 or more")
        bits: dict[int, int] = {}
        for id in self._end_ids:
            bits[id // 32] = bits.get(id // 32, 0) | 1 << id % 32
        self._end_words = np.array(list(bits), dtype=np.intp)
        self._end_bits = np.array(list(bits.values()), dtype=np.uint32).view(np.int32)
        self._matcher, self._one_way = on_large_stack(lambda: _compiled(self._trie, _OPTIONS + grammar))
        if self._matcher.is_error():
            raise ArgumentError(f"the grammar cannot be read: {_problem(self._matcher)}")
        self._taken = 0
        self._ends = 0  # the number of end ids after the text

    def fork(self) -> GrammarMatcher:
        """Return an independent copy at the same position; cheaper than compiling the grammar again."""
        other = object.__new__(type(self))
        other.__dict__ |= self.__dict__
        other._matcher = self._matcher.deep_copy()
        return other

    @property
    def is_ended(self) -> bool:
        """Whether only an end id may follow."""
        return self._ends > 0 or bool(self._matcher.is_stopped())

    @property
    def is_accepting(self) -> bool:
        """Whether the answer may end here."""
        return bool(self._matcher.is_accepting())

    @property
    def can_roll_back(self) -> bool:
        """Whether `rollback` works. False for Lark with `max_tokens=` or `stop=`, which llguidance cannot undo."""
        return not self._one_way

    def fill(self, bitmask: Any, row: SupportsIndex = 0) -> None:
        """Write which ids may come next into a row of packed bits.

        Args:
            bitmask: Writable int32 array of shape (rows, words) in CPU memory, of NumPy, PyTorch or any library with
                DLPack or the buffer protocol. Bit `id % 32` of word `id // 32` is 1 if the id is allowed. `words` is
                ceil(n / 32) for a model that scores n ids; bits beyond the vocabulary become 0.
            row: The row's index, from 0.

        Raises:
            ArgumentError: The bitmask has another type or shape or is read-only, or has no such row.
            StreamError: The matcher has reached a limit of its own.
        """
        with needs("constrain"):
            import numpy as np

        target = read_bitmask(bitmask)
        place = read_row(row, target)
        mask = np.frombuffer(self._matcher.compute_bitmask(), np.int32)
        _write([self], target, [place], mask[None], "")

    @staticmethod
    def fill_batch(
        matchers: Sequence[GrammarMatcher],
        bitmask: Any,
        rows: Sequence[SupportsIndex] | None = None,
        *,
        threads: int = 1,
    ) -> None:
        """Call `fill` for many matchers at once, without the GIL.

        Args:
            matchers: Different matchers of the same vocabulary.
            bitmask: As in `fill`; other rows do not change.
            rows: The row of each matcher; all rows differ. None: 0, 1, 2, …
            threads: The number of threads that compute masks.

        Raises:
            ArgumentError: As in `fill`; a matcher or a row is repeated, there are not as many rows as matchers, or the
                vocabularies differ.
            StreamError: As in `fill`; the message has the row.
        """
        with needs("constrain"):
            import numpy as np

        target = read_bitmask(bitmask)
        places = list(range(len(matchers)) if rows is None else map(operator.index, rows))
        for extreme in (min, max) if places else ():
            read_row(extreme(places), target)
        if not len(matchers) == len(places) == len(set(places)) == len(set(map(id, matchers))):
            raise ArgumentError(
                f"there are {len(matchers)} matchers and {len(places)} rows; pass one row for each matcher, and each "
                "matcher and row once"
            )
        require_count("threads", threads)
        if not matchers:
            return
        trie = matchers[0]._trie
        if len({id(matcher._trie) for matcher in matchers}) > 1:
            raise ArgumentError("the matchers have different vocabularies; fill them in calls of their own")
        words = (trie.vocab_size + 31) // 32
        is_in_place = target.shape[1] == words and target.flags.c_contiguous
        masks = target if is_in_place else np.empty((len(matchers), words), np.int32)
        jobs = list(
            zip([matcher._matcher for matcher in matchers], places if is_in_place else count(), strict=False)
        )
        _executor(threads).unsafe_compute_mask_ptr(jobs, masks.ctypes.data, words * 4, len(masks))
        _write(matchers, target, places, None if is_in_place else masks, "row ")

    def _end_row(self, row: Rows, where: str) -> None:
        """Allow the end ids in a row if the answer may end.

        The trie's own end id does not show whether it may: "any token except these" also allows that id.
        """
        self._check(where)
        if not self.is_accepting:
            return
        if self._ends:
            row[:] = 0
        fits = self._end_words < len(row)
        row[self._end_words[fits]] |= self._end_bits[fits]

    def take(self, *ids: SupportsIndex) -> None:
        """Advance by the id that the model has chosen, or by several ids.

        Raises:
            StreamError: The grammar does not allow an id. The state is unchanged then.
        """
        numbers = [operator.index(id) for id in ids]
        count = self.validate(numbers) if len(numbers) > 1 else len(numbers)
        if count == len(numbers):
            count = self.advance(numbers)
        if count < len(numbers):
            self._check()
            raise StreamError(
                f"the grammar does not allow id {numbers[count]} here; choose one that the mask allows"
            )

    def advance(self, ids: Iterable[SupportsIndex]) -> int:
        """Advance up to the first id that the grammar does not allow; return the number of ids taken."""
        taken = 0
        for id in map(operator.index, ids):
            if not self._ends and self._is_token(id) and self._matcher.try_consume_tokens([id]):
                self._taken += 1
            elif id in self._end_ids and self.is_accepting:
                self._ends += 1
            else:
                break
            taken += 1
        return taken

    def validate(self, drafts: Iterable[SupportsIndex]) -> int:
        """Return how many of these ids, from the first on, `take` would accept; the state does not change.

        Raises:
            StreamError: As in `fill`.
        """
        ids = [operator.index(id) for id in drafts]
        count = 0
        if not self._ends:
            known = next((at for at, id in enumerate(ids) if not self._is_token(id)), len(ids))
            count = self._matcher.validate_tokens(ids[:known])
            self._check()
        return self.fork().advance(ids) if count < len(ids) and ids[count] in self._end_ids else count

    def rollback(self, count: int) -> None:
        """Undo the last `count` ids.

        Raises:
            ArgumentError: Fewer ids were taken, or `can_roll_back` is False. The state is unchanged then.
        """
        taken = self._taken + self._ends
        if not 0 <= operator.index(count) <= taken:
            raise ArgumentError(f"count is {count}, and {taken} ids were taken; pass 0 to {taken}")
        ends = min(count, self._ends)
        ids = count - ends
        if ids and self._one_way:
            raise ArgumentError(f"the grammar cannot go back: {self._one_way}")
        self._matcher.rollback(ids)
        self._taken -= ids
        self._ends -= ends
        self._check()

    def forced(self) -> list[int]:
        """Return the ids of the text that must follow, possibly none; the state does not change.

        The text is certain, but the model may tokenize it differently, so use the ids as drafts that the model
        verifies. A last token that could continue beyond the text is not included.

        Raises:
            StreamError: As in `fill`.
        """
        if self.is_ended:
            return []
        # A copy, because a matcher that has read ahead rejects tokens by id. Compute the bytes before the tokens.
        ahead = self._matcher.deep_copy()
        ahead.compute_ff_bytes()
        ids: list[int] = ahead.compute_ff_tokens()
        return ids[: self.validate(ids)]

    def _is_token(self, id: int) -> bool:
        # llguidance fails permanently at an id that it does not know.
        return 0 <= id < self._size

    def _check(self, where: str = "") -> None:
        if self._matcher.is_error():
            raise StreamError(f"{where}the grammar cannot go on: {_problem(self._matcher)}")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a GrammarMatcher cannot be pickled; make it again, and take the answer's ids")


def _compiled(trie: Any, grammar: str) -> tuple[Any, str]:
    """Compile a matcher and compute its first mask, so that a grammar beyond the matcher's limits is an error now.

    Returns:
        The matcher, and the reason why it cannot roll back, or "". A rollback that fails would leave it unusable.
    """
    library = llguidance_module()
    limits = library.LLParserLimits(max_items_in_row=_MAX_ITEMS)
    matcher = library.LLMatcher(trie, grammar, log_level=0, limits=limits)
    mask = 0 if matcher.is_error() else int.from_bytes(matcher.compute_bitmask(), "little")
    if not mask:
        return matcher, ""
    trial = matcher.deep_copy()
    trial.consume_token((mask & -mask).bit_length() - 1)
    return matcher, "" if trial.rollback(1) else _problem(trial)


def _write(
    matchers: Sequence[GrammarMatcher], target: Rows, places: list[int], masks: Rows | None, where: str
) -> None:
    """Write masks into the caller's rows, with our end ids in place of the trie's end id.

    The trie's end id is allowed if the answer may end, and after an error, so only such rows need a check.

    Args:
        masks: The masks; None: they are already in the caller's rows.
    """
    with needs("constrain"):
        import numpy as np

    rows, (column, bit) = np.array(places), divmod(matchers[0]._size, 32)
    if masks is None:
        may_end = target[rows, column] >> bit & 1
    else:
        may_end = masks[:, column] >> bit & 1
        words = min(masks.shape[1], target.shape[1])
        target[rows, :words] = masks[:, :words]
        target[rows, words:] = 0
    if column < target.shape[1]:
        target[rows, column] &= (1 << bit) - 1
    for index in np.flatnonzero(may_end).tolist():
        matchers[index]._end_row(target[places[index]], where and f"{where}{places[index]}: ")


@lru_cache(maxsize=4)
def _executor(threads: int) -> Any:
    """llguidance's threads, which all calls share."""
    return llguidance_module().LLExecutor(threads)


in_child(_executor.cache_clear)  # a child process has none of the threads


def _problem(matcher: Any) -> str:
    """Return the first line of the matcher's error; a panic of llguidance is replaced by a message for the user."""
    text: str = matcher.get_error()
    if "panic" in text:
        return "it is too large for llguidance; shorten the schemas"
    return text.strip().split("\n", 1)[0][:500]

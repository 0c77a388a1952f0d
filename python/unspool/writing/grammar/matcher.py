"""Which ids a grammar allows next: llguidance, over our own vocabularies."""

from __future__ import annotations

import copy
import threading
import weakref
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from unspool._core import Vocabulary
from unspool.errors import ArgumentError, StreamError
from unspool.writing.grammar.large_stack import on_large_stack

if TYPE_CHECKING:
    import numpy as np

__all__ = ["GrammarMatcher"]

# Without it a matcher tokenizes the text that must follow itself, and allows that one way alone. The model knows
# better how its text is cut into tokens.
_OPTIONS = '%llguidance {"no_forcing": true}\n'

# What may come next at one place; llguidance's own limit would fail in the midst of an answer. The largest schema has 3,000
# alternatives, and some formats have several ways to write each.
_MAX_ITEMS = 40_000

_tries: weakref.WeakKeyDictionary[Vocabulary, Any] = weakref.WeakKeyDictionary()
_tries_lock = threading.Lock()


class GrammarMatcher:
    """One answer's place in a grammar.

    Args:
        vocabulary: Of the model's tokenizer.
        grammar: In Lark, as llguidance reads it; a token may stand as `<[id]>`.
        eos: Ids that end an answer; they are allowed where the grammar may end.

    Raises:
        ArgumentError: The grammar cannot be read.
        ImportError: llguidance is missing.
    """

    def __init__(self, vocabulary: Vocabulary, grammar: str, eos: Collection[int] = ()) -> None:
        self._eos = sorted(eos)
        self._size = len(vocabulary)
        trie = _trie(vocabulary)
        self._matcher = on_large_stack(lambda: _compiled(trie, _OPTIONS + grammar))
        if self._matcher.is_error():
            raise ArgumentError(f"the grammar cannot be read: {_problem(self._matcher)}")

    def copy(self) -> GrammarMatcher:
        """Another answer's place, at the same point of the same grammar; cheaper than compiling it again."""
        other = copy.copy(self)
        other._matcher = self._matcher.deep_copy()
        return other

    @property
    def is_ended(self) -> bool:
        """Whether nothing may follow but the end."""
        return bool(self._matcher.is_stopped())

    @property
    def is_accepting(self) -> bool:
        """Whether the answer may end here."""
        return bool(self._matcher.is_accepting())

    def allowed(self, count: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which ids may come next, as an array of shape (count,).

        Args:
            count: How many ids the model scores: ids beyond the vocabulary are not allowed.

        Raises:
            StreamError: The matcher has reached a limit of its own.
        """
        import numpy as np

        bits = np.frombuffer(self._matcher.compute_bitmask(), dtype=np.uint8)
        self._check()
        known = np.unpackbits(bits, count=min(count, self._size), bitorder="little")
        allowed = np.zeros(count, dtype=np.bool_)
        allowed[: known.size] = known
        allowed[[id for id in self._eos if id < count]] = self.is_accepting
        return allowed

    def take(self, id: int) -> None:
        """Go on with this id.

        Raises:
            StreamError: It is not allowed here.
        """
        if id in self._eos:
            return
        self._matcher.consume_token(id)
        self._check()

    def _check(self) -> None:
        if self._matcher.is_error():
            raise StreamError(f"the grammar cannot go on: {_problem(self._matcher)}")


def _compiled(trie: Any, grammar: str) -> Any:
    """A matcher that has computed its first mask, so that a grammar beyond the matcher's limits is an error now."""
    library = _llguidance()
    limits = library.LLParserLimits(max_items_in_row=_MAX_ITEMS)
    matcher = library.LLMatcher(trie, grammar, log_level=0, limits=limits)
    if not matcher.is_error():
        matcher.compute_bitmask()
    return matcher


def _llguidance() -> Any:
    try:
        import llguidance
    except ImportError as error:
        raise ImportError(f"{error}; pip install 'unspool[constrain]'") from None
    return llguidance


class _Tokens:
    """A vocabulary as llguidance takes it."""

    is_tokenizer_wrapper = True
    bos_token_id = None

    def __init__(self, vocabulary: Vocabulary) -> None:
        added = vocabulary.added_tokens
        size = len(vocabulary)
        self.tokens = [vocabulary.token_bytes(id) for id in range(size)]
        for id, text in added.items():
            self.tokens[id] = text.encode()
        self.special_token_ids = list(added)
        # An id that no text has, so that the end is ours to allow.
        self.tokens.append(b"<end>")
        self.special_token_ids.append(size)
        self.eos_token_id = size

    def __call__(self, text: str | bytes) -> list[int]:
        raise NotImplementedError("a grammar's text is not tokenized")


def _trie(vocabulary: Vocabulary) -> Any:
    """llguidance's table of a vocabulary: it takes a second for a large one, and is kept."""
    with _tries_lock:
        found = _tries.get(vocabulary)
        if found is None:
            found = _tries[vocabulary] = _llguidance().LLTokenizer(_Tokens(vocabulary))
        return found


def _problem(matcher: Any) -> str:
    """The first line of the matcher's error; its own faults say nothing to a user."""
    text: str = matcher.get_error()
    if "panic" in text:
        return "it is too large for llguidance; shorten the schemas"
    return text.strip().split("\n", 1)[0][:500]

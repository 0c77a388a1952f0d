"""Warms up a model: runs each shape once before the first request."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from unspool.core.records import require_count
from unspool.errors import ArgumentError
from unspool.generation import POSITION_NAMES, model_positions
from unspool.integrations.easydel.config import PreCompileConfig

__all__ = ["PrecompiledShapes", "prefill_length"]


class PrecompiledShapes:
    """The shapes of an engine that have run or are running.

    There is no reference to the engine, because a cycle would keep the model alive.

    Args:
        shapes: The shapes in a saved file, which have not run in this process.
    """

    def __init__(self, shapes: Sequence[tuple[int, int]] = ()) -> None:
        self._lock = threading.Lock()
        self._work_lock = threading.Lock()
        self._runs: dict[int, Future[bool]] = {}
        self._warm: set[tuple[int, int]] = set()
        self._shapes = dict.fromkeys(shapes)

    @property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """(batch size, prefill length) of each shape, in the order in which they were added."""
        return tuple(self._shapes)

    def run(
        self,
        config: PreCompileConfig,
        read_length: Callable[[int | None], int],
        run_shape: Callable[[int, int], None],
    ) -> bool:
        """Run each shape of the config that has not run; wait for shapes that another thread is running.

        Args:
            read_length: A function that checks a prefill length and returns it; for None, it returns the longest one.
            run_shape: A function that runs a prompt with a batch size and a prefill length.
        """
        if not isinstance(config, PreCompileConfig):
            raise TypeError(f"config is of type {type(config).__name__}; pass a PreCompileConfig")
        pairs: Any = [(entry.batch_size, entry.prefill_length) for entry in config.expand()]  # no lists
        shapes = [(size, read_length(length)) for size, length in pairs]
        key = PreCompileConfig([size for size, _ in shapes], [length for _, length in shapes]).stable_hash()
        mine: Future[bool] = Future()
        with self._lock:
            running = self._runs.setdefault(key, mine)
        if running is not mine:
            return running.result()
        try:
            with self._work_lock:  # a shape in two configs runs once
                for shape in shapes:
                    if shape not in self._warm:
                        run_shape(*shape)
                    self._warm.add(shape)
                    with self._lock:
                        self._shapes = {**self._shapes, shape: None}
        except BaseException as error:
            with self._lock:
                del self._runs[key]
            mine.set_exception(error)
            raise
        mine.set_result(True)
        return True

    def choose_bucket(self, length: int) -> int | None:
        """See `vInference.choose_bucket`."""
        return min((bucket for _, bucket in self._shapes if bucket >= length), default=None)


def prefill_length(model: Any, max_new_tokens: int) -> int:
    """Return the maximum number of token ids in a prompt after which `max_new_tokens` more fit the model's positions.

    Raises:
        ArgumentError: The config has no number of positions, or `max_new_tokens` is below 1 or leaves no
            room for a prompt.
        TypeError: `max_new_tokens` is not an int.
    """
    require_count("max_new_tokens", max_new_tokens)
    positions = model_positions(model)
    if positions is None:
        raise ArgumentError(
            "the model's config does not show how long a prompt may be: neither model.config nor its text"
            f" config has any of {', '.join(POSITION_NAMES)}; pass prefill_length"
        )
    limit, name = positions
    if max_new_tokens >= limit:
        raise ArgumentError(
            f"max_new_tokens is {max_new_tokens}, but the model has {limit} positions ({name}); pass less than {limit}"
        )
    return limit - max_new_tokens

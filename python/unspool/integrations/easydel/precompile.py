"""Warms up a model: runs each shape once before the first request."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Literal

from unspool.errors import ArgumentError
from unspool.integrations.easydel.config import PreCompileConfig

__all__ = ["PrecompiledShapes", "TooLong", "cut_prompt"]

TooLong = Literal["error", "truncate-left", "truncate-right"]


class PrecompiledShapes:
    """The shapes of an engine that have run or are running.

    It holds no reference to the engine: a cycle would keep the model alive.

    Args:
        shapes: Buckets of a saved file, which have not run in this process.
    """

    def __init__(self, shapes: Sequence[tuple[int, int]] = ()) -> None:
        self._lock = threading.Lock()
        self._work_lock = threading.Lock()
        self._runs: dict[int, Future[bool]] = {}
        self._warm: set[tuple[int, int]] = set()
        self._shapes = dict.fromkeys(shapes)

    @property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """(batch size, prefill length), in the order in which they were added."""
        return tuple(self._shapes)

    def run(
        self,
        config: PreCompileConfig,
        read_length: Callable[[int | None], int],
        run_shape: Callable[[int, int], None],
    ) -> bool:
        """Run each shape of the config that has not run; wait for those that another thread runs.

        Args:
            read_length: Checks a prefill length; of None it returns the longest one.
            run_shape: Runs a prompt of a batch size and a prefill length.
        """
        if not isinstance(config, PreCompileConfig):
            raise TypeError(f"config is of type {type(config).__name__}; pass a PreCompileConfig")
        pairs: Any = [(one.batch_size, one.prefill_length) for one in config.expand()]  # without lists
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
        """As of `vInference.choose_bucket`."""
        return min((bucket for _, bucket in self._shapes if bucket >= length), default=None)


def cut_prompt(
    prompt: Any, tokenize: Callable[[Any], list[int]], limit: Callable[[], int], too_long: TooLong
) -> list[int]:
    """As of `vInference.fit_prompt`."""
    if too_long not in ("error", "truncate-left", "truncate-right"):
        raise ArgumentError(f"too_long is {too_long!r}; use 'error', 'truncate-left' or 'truncate-right'")
    if _has_media(prompt):
        raise ArgumentError(
            "a prompt with images, sounds or embeddings cannot be cut; pass text or token ids"
        )
    most, ids = limit(), tokenize(prompt)
    if len(ids) <= most:
        return ids
    if too_long == "error":
        raise ArgumentError(
            f"the prompt has {len(ids)} token ids, and the longest prefill length is {most}; shorten it, pass "
            "too_long='truncate-left' or 'truncate-right', or precompile a longer one"
        )
    return ids[-most:] if too_long == "truncate-left" else ids[:most]


def _has_media(prompt: Any) -> bool:
    """Whether a prompt is not text or token ids alone."""
    if isinstance(prompt, Mapping):
        if prompt.get("inputs_embeds") is not None:
            return True
        prompt = [prompt] if "role" in prompt else prompt.get("messages")
    if not isinstance(prompt, (list, tuple)):
        return False
    contents = [message.get("content") for message in prompt if isinstance(message, Mapping)]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    return any(part.get("type") not in ("text", "input_text") for part in parts)

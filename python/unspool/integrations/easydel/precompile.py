"""Warms up a model: runs each shape once before the first request."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Literal

from unspool.errors import ArgumentError
from unspool.integrations.easydel.config import PreCompileConfig

if TYPE_CHECKING:
    from unspool.integrations.easydel.engine import vInference

__all__ = ["PrecompiledShapes", "TooLong", "fit_prompt"]

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

    def run(self, engine: vInference, config: PreCompileConfig) -> bool:
        """As of `vInference.precompile`."""
        if not isinstance(config, PreCompileConfig):
            raise TypeError(f"config is of type {type(config).__name__}; pass a PreCompileConfig")
        pairs: Any = [(one.batch_size, one.prefill_length) for one in config.expand()]  # without lists
        shapes: list[tuple[int, int]] = [(size, self._length(engine, length)) for size, length in pairs]
        key = PreCompileConfig([size for size, _ in shapes], [length for _, length in shapes]).stable_hash()
        with self._lock:
            running = self._runs.get(key)
            mine: Future[bool] = Future()
            if running is None:
                self._runs[key] = mine
        if running is not None:
            return running.result()
        try:
            with self._work_lock:  # a shape in two configs runs once
                self._run_shapes(engine, shapes)
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

    def _length(self, engine: vInference, length: Any) -> int:
        if length is None:
            return engine.model_prefill_length
        try:
            most = engine.model_prefill_length
        except ArgumentError:  # the config has no length
            return int(length)
        if length > most:
            raise ArgumentError(
                f"prefill_length is {length}, but a prompt may have {most} token ids, so that max_new_tokens="
                f"{engine.config.max_new_tokens} fit after it; pass at most {most}"
            )
        return int(length)

    def _run_shapes(self, engine: vInference, shapes: Sequence[tuple[int, int]]) -> None:
        for shape in shapes:
            if shape not in self._warm:
                self._run_shape(engine, *shape)
            self._warm.add(shape)
            with self._lock:
                self._shapes = {**self._shapes, shape: None}

    def _run_shape(self, engine: vInference, batch_size: int, length: int) -> None:
        """Generate one token after a prompt of this length, as a request does."""
        import torch

        config = engine.config
        token_id = config.bos_token_id if config.bos_token_id is not None else config.pad_token_id or 0
        options: dict[str, Any] = {"max_new_tokens": 1, "n": batch_size, "seed": 0}
        if batch_size > 1:
            options["do_sample"] = True
        with engine.stream(input_ids=torch.full((1, length), token_id), **options) as stream:
            for _ in stream:
                pass


def fit_prompt(engine: vInference, prompt: Any, too_long: TooLong) -> list[int]:
    """As of `vInference.fit_prompt`."""
    if too_long not in ("error", "truncate-left", "truncate-right"):
        raise ArgumentError(f"too_long is {too_long!r}; use 'error', 'truncate-left' or 'truncate-right'")
    if _has_media(prompt):
        raise ArgumentError(
            "a prompt with images, sounds or embeddings cannot be cut; pass text or token ids"
        )
    lengths = [length for _, length in engine.precompiled_shapes]
    limit = max(lengths) if lengths else engine.model_prefill_length
    ids = engine.tokenize(prompt)
    if len(ids) <= limit:
        return ids
    if too_long == "error":
        raise ArgumentError(
            f"the prompt has {len(ids)} token ids, and the longest prefill length is {limit}; shorten it, pass "
            "too_long='truncate-left' or 'truncate-right', or precompile a longer one"
        )
    return ids[-limit:] if too_long == "truncate-left" else ids[:limit]


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

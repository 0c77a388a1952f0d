"""Requests that share the steps of one model. transformers' continuous batching runs it; unspool chooses the ids.

The manager's thread runs the model on the ids of all requests. The manager does not sample: each request chooses its
own next id, as in the native loop, and parses it. The keys and values of a prompt stay in pages, which later prompts
with the same beginning reuse.
"""

from __future__ import annotations

import atexit
import dataclasses
import itertools
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from unspool.core.needs import needs

with needs("transformers"):
    from transformers import GenerationConfig, LogitsProcessorList

from unspool.core.fork_safety import in_child
from unspool.errors import ArgumentError, ChannelCancelledError
from unspool.generation.prefill.prepared import PreparedPrompt
from unspool.generation.rows import Rows
from unspool.generation.settings import GenerationSettings
from unspool.generation.steps import Steps

try:
    from transformers import ContinuousBatchingConfig
    from transformers.generation.continuous_batching.cb_logits_processors import (
        ContinuousBatchingLogitsProcessorList,
    )

    _pages = "page_size" in {item.name for item in dataclasses.fields(ContinuousBatchingConfig)}
except ImportError:
    _pages = False
if not _pages:
    raise ImportError("backend='batched' needs transformers 5.17 or later; pip install -U transformers")

__all__ = ["ModelBatch"]

# Tokens in a page. A prompt's last page is run again unless it is full, so small pages save work.
_PAGE_TOKENS = 8
# transformers reserves memory for the scores of this many requests.
_MAX_REQUESTS = 256
_POLL_S = 0.05
_EXIT_GRACE_S = 2.0

#: transformers' managers. Each lives as long as its thread.
_managers: weakref.WeakSet[Any] = weakref.WeakSet()


class ModelBatch:
    """A model whose requests share its steps.

    Args:
        cache_tokens: Size of the cache in tokens of prompts and answers.
        step_tokens: Maximum number of ids in a step. A longer prompt takes several steps; other requests run meanwhile.

    Attributes:
        capacity: Maximum number of tokens in a prompt and its answer together.

    Raises:
        ArgumentError: transformers cannot run this model in batches, or the cache does not fit into the memory.
    """

    def __init__(self, model: Any, cache_tokens: int, step_tokens: int) -> None:
        self._model = model
        self._config = ContinuousBatchingConfig(
            page_size=_PAGE_TOKENS,
            num_blocks=-(-cache_tokens // _PAGE_TOKENS),
            max_batch_tokens=step_tokens,
            max_requests_per_batch=_MAX_REQUESTS,
            # Off, because a step's ids are chosen on the host before the next step begins.
            use_async_batching=False,
            use_cuda_graph=False,
            max_blocks_per_request=0,
        )
        self.capacity = cache_tokens
        self._lock = threading.Lock()
        self._ids = itertools.count()
        self._chooser = _Chooser()
        try:
            self._manager = self._make_manager()
            self._manager.warmup()  # allocates the cache
        except (MemoryError, ValueError, AttributeError) as error:
            raise ArgumentError(
                f"backend='batched' cannot run this model: {error}; use backend='native', or fewer cache_tokens"
            ) from error

    def run(
        self,
        prepared: PreparedPrompt,
        answers: Sequence[tuple[Rows, GenerationSettings]],
        is_cancelled: Callable[[], bool],
    ) -> int:
        """Generate the answers of a request; returns after all have ended.

        Args:
            answers: One-row answers with their settings. The others begin after the first one has run the prompt.

        Returns:
            The number of the prompt's tokens that were in the cache.

        Raises:
            ArgumentError: The prompt has further inputs or a cache.
            ChannelCancelledError: The consumer has left.
        """
        if prepared.static_inputs or prepared.token_inputs or not prepared.attention_mask.all():
            raise ArgumentError(
                "backend='batched' reads token ids alone; use backend='native' for other inputs"
            )
        if prepared.cache is not None:
            raise ArgumentError("backend='batched' has a cache of its own; leave past_key_values out")
        device = self._model.device
        waiting = [_Lane(Steps(prepared, rows, settings, is_cancelled, device)) for rows, settings in answers]
        lanes = dict[str, _Lane]()
        prompt: list[int] = prepared.prompt_ids[0].tolist()
        try:
            for lane in waiting:
                if lanes:
                    self._wait(waiting[0].has_begun, is_cancelled)
                lanes[self._add(prompt, lane)] = lane
            for lane in lanes.values():
                self._wait(lane.is_over, is_cancelled)
                if lane.error is not None:
                    raise lane.error
        finally:
            for id in lanes:
                self._chooser.remove(id)
        return len(prompt) - waiting[0].run_count

    def _add(self, prompt: list[int], lane: _Lane) -> str:
        id = f"unspool-{next(self._ids)}"
        with self._lock:
            if not self._manager.is_running():
                if self._manager.background_thread_status.fatal_error is not None:
                    self._manager = self._make_manager()
                self._manager.start()  # the thread inherits daemon flag and inference mode from this worker
            lane.manager = self._manager
            self._chooser.add(id, lane)
            # No end id and no limit: the request ends when its lane ends.
            self._manager.add_request(prompt, request_id=id, eos_token_id=-1)
        return id

    def _wait(self, event: threading.Event, is_cancelled: Callable[[], bool]) -> None:
        while not event.wait(_POLL_S):
            if is_cancelled():
                raise ChannelCancelledError("the consumer has left")
            if not self._manager.is_running():
                raise self._manager.background_thread_status.fatal_error or RuntimeError(
                    "the model has stopped"
                )

    def _make_manager(self) -> Any:
        manager = self._model.init_continuous_batching(
            generation_config=GenerationConfig(do_sample=False, eos_token_id=-1, max_new_tokens=None),
            continuous_batching_config=self._config,
        )
        manager.logit_processor = self._chooser
        weakref.finalize(self, _stop, manager).atexit = False
        _managers.add(manager)
        return manager


class _Lane:
    """One answer in the batch; runs in the model's thread."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.manager: Any = None
        self.run_count = 0  # number of the prompt's tokens that ran
        self.has_begun, self.is_over = threading.Event(), threading.Event()
        self.error: BaseException | None = None

    def take(self, scores: Any) -> int | None:
        """Choose the next id; None on an error. Keeps exceptions, since all requests share the thread."""
        next_id = None
        try:
            next_id = int(self.steps.take(scores))
        except BaseException as error:
            self.error = error
        if self.error is not None or self.steps.is_over:
            self.is_over.set()
        self.has_begun.set()
        return next_id


class _Chooser(ContinuousBatchingLogitsProcessorList):  # type: ignore[misc]
    """Replaces transformers' processing of a step's scores; leaves each request only the id that it has chosen."""

    def __init__(self) -> None:
        super().__init__(LogitsProcessorList())
        self.do_processing = True
        self._lanes: dict[str, _Lane] = {}
        self._rows: list[str] = []

    def add(self, id: str, lane: _Lane) -> None:
        self._lanes[id] = lane

    def remove(self, id: str) -> None:
        """Cancel a request if it is still in the batch."""
        lane = self._lanes.pop(id, None)
        if lane is not None:
            lane.manager.cancel_request(id)
            # A full cache makes transformers block new requests until one ends by itself; cancelling does not count.
            lane.manager.batch_processor.scheduler.block_new_requests = False

    def prepare_tensor_args(self, requests_in_batch: Any, arg_storage: Any) -> Any:
        """Record which requests the next scores belong to."""
        self._rows = [item.state.request_id for item in requests_in_batch if item.has_new_token]
        for item in requests_in_batch:
            lane = self._lanes.get(item.state.request_id)
            if lane is not None and not lane.has_begun.is_set():
                lane.run_count += item.query_length
        return arg_storage

    def __call__(self, input_ids: Any, scores: Any, logits_processor_args: Any) -> Any:  # noqa: ARG002
        chosen = scores.new_full(scores.shape, float("-inf"))
        for row, id in enumerate(self._rows):
            lane = self._lanes.get(id)
            next_id = None if lane is None else lane.take(scores[row : row + 1])
            if next_id is not None:
                chosen[row, next_id] = 0.0
            if lane is not None and lane.is_over.is_set():
                self.remove(id)
        return chosen


def _stop(manager: Any, timeout_s: float = 0) -> None:
    if manager.is_running():
        manager.stop(block=timeout_s > 0, timeout=timeout_s, hard_stop=True)


@atexit.register
def _stop_all() -> None:
    """Stop all managers at exit: a thread that returns from native code later would abort the process."""
    for manager in list(_managers):
        if manager.is_running() and manager.batch_processor is None:
            manager.join(time.perf_counter(), _EXIT_GRACE_S)  # it is ending by itself
        _stop(manager, _EXIT_GRACE_S)


in_child(_managers.clear)  # after a fork, the threads are in the parent only

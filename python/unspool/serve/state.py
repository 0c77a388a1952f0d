"""State that all requests of a server share."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from unspool.serve.http.api_errors import ApiError
from unspool.serve.http.limits import Limits
from unspool.serve.http.metrics import Metrics
from unspool.serve.http.preparing import Preparing
from unspool.serve.models.begin_answer import AnswerDefaults
from unspool.serve.wires.response_store import ResponseStore
from unspool.streams.recording.recorder import Recorder

if TYPE_CHECKING:
    from starlette.requests import Request

    from unspool.generation.served_model import ServedModel
    from unspool.serve.settings import ServeOptions

__all__ = ["ServerState", "state_of"]


class ServerState:
    """The models, the limits, the metrics, and whether the server accepts requests.

    Attributes:
        models: The models by name; None while they load.
        failure: The exception of the loading function.
        is_stopping: Whether the server is stopping.
        checks_host: Whether `Host` must be a name of this server.
        preparing: Runs the work before the model, such as rendering templates.
        parsing: Allows one long body at a time to be parsed.
        responses: The stored responses.
        answer_count: The number of running and queued answers.
        answer_defaults: The settings for what a request leaves open.
        recorder: Records the answers; None: there is no folder for them.
    """

    def __init__(self, options: ServeOptions) -> None:
        self.options = options
        self.models: Mapping[str, ServedModel] | None = None
        self.failure: BaseException | None = None
        self.is_stopping = False
        self.checks_host = bool(options.allowed_hosts) and "*" not in options.allowed_hosts
        self.parsing = anyio.CapacityLimiter(1)
        self.answer_count = 0
        self._running: set[anyio.CancelScope] = set()
        self._has_cut_off = False
        self.created = int(time.time())
        self.limits = Limits(options.max_workers, options.max_queue, options.retry_after_s)
        self.preparing = Preparing(options.prepare_timeout_s, options.max_workers)
        self.responses = ResponseStore(options.response_store_mb, options.response_store_age_s)
        self.answer_defaults = AnswerDefaults(
            timeout_s=options.stream_timeout_s,
            reasoning_field=options.reasoning_field,
            stop_in=options.stop_in,
            strict_markers=options.strict_markers,
        )
        self.metrics = Metrics(self.limits, self.preparing)
        self.recorder = (
            None
            if options.record is None
            else Recorder(options.record, int(options.record_mb * 1e6), options.record_texts)
        )

    @property
    def is_ready(self) -> bool:
        """Whether requests are served."""
        return (
            self.models is not None and not self.is_stopping and self.preparing.has_room and self._is_served
        )

    @property
    def _is_served(self) -> bool:
        """Whether the engine of any model answers."""
        models = self.models.values() if type(self.models) is dict else ()
        return not models or any(model.is_ready for model in models)

    def stop(self) -> None:
        """Reject new requests; running ones continue."""
        self.is_stopping = True

    def drain(self) -> None:
        """Reject new requests, and cancel running ones after the time to drain; on the event loop."""
        if not self.is_stopping:
            self.stop()
            asyncio.get_running_loop().call_later(self.options.drain_timeout_s, self.cut_off)

    def cut_off(self) -> None:
        """Cancel the answers that still run; on the event loop."""
        self._has_cut_off = True
        for scope in self._running:
            scope.cancel()

    @contextlib.contextmanager
    def cut_off_after_drain(self, scope: anyio.CancelScope) -> Iterator[None]:
        """Cancel an answer's scope after the time to drain."""
        if self._has_cut_off:
            scope.cancel()
        self._running.add(scope)
        try:
            yield
        finally:
            self._running.discard(scope)

    def check_ready(self) -> Mapping[str, ServedModel]:
        """Return the models.

        Raises:
            ApiError: 503, the models are not loaded yet, or the server is stopping.
        """
        if self.is_stopping:
            raise _not_ready("the server is stopping", self.options.retry_after_s)
        if self.models is None:
            why = f": {self.failure}" if self.failure is not None else "; try again in a moment"
            raise _not_ready(f"the model is not loaded{why}", self.options.retry_after_s)
        return self.models

    async def find_model(self, name: str) -> ServedModel:
        """Return the model with this name; a mapping that creates its models on access is called in a thread.

        Raises:
            ApiError: 404, there is no such model; 503, as in `check_ready`.
        """
        models = self.check_ready()
        try:
            if type(models) is dict:
                model: ServedModel = models[name]
            else:
                model = await anyio.to_thread.run_sync(models.__getitem__, name)
        except LookupError:
            known = ", ".join(list(models)[:8]) + (", …" if len(models) > 8 else "")
            message = f"there is no model '{name}'; this server has {known}"
            raise ApiError(404, message, code="model_not_found", param="model") from None
        return model


def _not_ready(message: str, retry_after_s: int) -> ApiError:
    return ApiError(503, message, code="not_ready", headers={"Retry-After": str(retry_after_s)})


def state_of(request: Request) -> ServerState:
    """Return the state of the app that received a request."""
    state: ServerState = request.app.state.server
    return state

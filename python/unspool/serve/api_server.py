"""`ApiServer`: the server, with the interface that EasyDeL's users know."""

from __future__ import annotations

import asyncio
import copy
import logging
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

import uvicorn
import uvicorn.config
from prometheus_client import start_http_server
from starlette.routing import BaseRoute

from unspool._core import __version__
from unspool.errors import ArgumentError, UnspoolError
from unspool.generation.served_model import ServedModel
from unspool.serve.app import create_app
from unspool.serve.guard import listen_at
from unspool.serve.http.timed_protocol import timed_protocol
from unspool.serve.models.stream_adapter import as_served, can_serve
from unspool.serve.settings import ListenOptions, ServeOptions
from unspool.serve.state import ServerState

__all__ = ["LAST_EVENTS_S", "ApiServer", "address_of", "summary_of", "uvicorn_settings"]

_log = logging.getLogger("unspool.serve")

_KEEP_CONNECTION_S = 5
# Time to send the error events of answers that are cut off, in seconds.
LAST_EVENTS_S = 5
# Maximum number of models that the log line of a ready server names.
_MOST_SHOWN = 8


class ApiServer:
    """Serves models over HTTP: an OpenAI-compatible API, and Anthropic's Messages.

    Args:
        models: Models by name (`StreamGenerator`s or other `ServedModel`s); or one model, which is served under its `inference_name`; or a function that returns either. The function is called in a thread
            while the server already answers /liveness.
        max_workers: Maximum number of answers that are generated at a time.
        options: All other settings.
        routes: Further Starlette routes, after the API's own.

    Raises:
        ArgumentError: There is no model.
        TypeError: A value is not a model.
    """

    def __init__(
        self,
        models: Any,
        max_workers: int = ServeOptions.max_workers,
        *,
        options: ServeOptions | None = None,
        routes: Sequence[BaseRoute] = (),
    ) -> None:
        if options is not None and max_workers != ServeOptions.max_workers:
            raise ArgumentError("max_workers is given twice; put it into the options")
        options = options or ServeOptions(max_workers=max_workers)
        is_factory = not can_serve(models) and callable(models)
        by_name: Any = (lambda: _by_name(models())) if is_factory else _by_name(models)
        self._server: _Server | None = None
        self._has_started = threading.Event()
        self._address = ""
        self.app = create_app(by_name, options, routes=routes, on_failure=self.stop, on_ready=self._announce)

    def fire(
        self,
        host: str = "0.0.0.0",
        port: int = ListenOptions.port,
        metrics_port: int | None = None,
        log_level: str = "info",
        ssl_keyfile: str | None = None,
        ssl_certfile: str | None = None,
    ) -> None:
        """Serve until SIGINT or SIGTERM. Then running answers have `drain_timeout_s` to end, and new requests get 503.

        Args:
            host: The address to listen on; "127.0.0.1" for this machine alone.
            port: The port; 0: a free one, which the property `port` returns.
            metrics_port: A second port that serves the metrics to Prometheus; None: the port after `port`; -1:
                none, the metrics are only at /metrics.
            log_level: uvicorn's log level: "critical", "error", "warning", "info", "debug" or "trace".
            ssl_keyfile, ssl_certfile: PEM files, for HTTPS.

        Raises:
            ArgumentError: Only one of the two TLS files is given, or the log level is unknown.
            BaseException: The exception of the loading function.
        """
        state = self.app.state.server
        options = state.options
        settings = uvicorn_settings(options, log_level, ssl_keyfile, ssl_certfile)
        if metrics_port is None:
            metrics_port = port + 1 if port else -1
        listen_at(state, host)
        self._address = address_of(host, ssl_keyfile is not None)
        self._server = _Server(
            uvicorn.Config(
                self.app,
                host=host,
                port=port,
                http=timed_protocol(options.read_timeout_s, options.max_header_bytes),
                timeout_graceful_shutdown=LAST_EVENTS_S,
                **settings,
            ),
            state,
            on_start=self._on_start,
        )
        self._server.should_exit = state.is_stopping  # true if `stop` has been called already
        metrics = None
        if metrics_port != -1:
            metrics = start_http_server(metrics_port, host, registry=state.metrics.registry)
        try:
            self._server.run()
        finally:
            if metrics is not None:
                listener, thread = metrics
                listener.shutdown()
                listener.server_close()
                thread.join()
        if state.failure is not None:
            raise state.failure

    def _on_start(self) -> None:
        self._has_started.set()
        if self.app.state.server.models is None:
            _log.info("listening at %s:%s; loading the models", self._address, self.port)
        self._announce()

    def _announce(self) -> None:
        """Log one line when the server listens and its models are loaded."""
        models = self.app.state.server.models
        if models is not None and self._has_started.is_set():
            _log.info("%s", summary_of(f"{self._address}:{self.port}", models))

    def stop(self) -> None:
        """End `fire`, from any thread; /readiness returns 503 at once."""
        self.app.state.server.stop()
        if self._server is not None:
            self._server.should_exit = True

    @property
    def port(self) -> int | None:
        """The port; None until the server listens."""
        return None if self._server is None else self._server.port

    def wait_until_listening(self, timeout: float | None = None) -> bool:
        """Wait until the server listens; False after the timeout. For `fire` in another thread."""
        return self._has_started.wait(timeout)


class _Server(uvicorn.Server):
    """uvicorn's server, which keeps listening until running answers have ended, so that new requests get 503."""

    def __init__(self, config: uvicorn.Config, state: ServerState, on_start: Callable[[], object]) -> None:
        super().__init__(config)
        self._state = state
        self._on_start = on_start

    async def startup(self, *arguments: Any, **options: Any) -> None:
        await super().startup(*arguments, **options)
        self._on_start()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._state.stop()
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._state.stop()
        count, most_s = self._state.answer_count, self._state.options.drain_timeout_s
        _log.info(
            "stopping: %s", f"{count} running answers have {most_s:g} s to end" if count else "nothing runs"
        )
        await self._wait_for_answers(most_s)
        self._state.cut_off()
        await self._wait_for_answers(LAST_EVENTS_S, force=True)
        await super().shutdown(sockets)

    async def _wait_for_answers(self, most_s: float, force: bool = False) -> None:
        end_s = time.monotonic() + most_s
        while self._state.answer_count and time.monotonic() < end_s and (force or not self.force_exit):
            await asyncio.sleep(0.02)

    @property
    def port(self) -> int | None:
        for server in getattr(self, "servers", ()):
            for listener in server.sockets:
                return int(listener.getsockname()[1])
        return None


def uvicorn_settings(
    options: ServeOptions, log_level: str, ssl_keyfile: str | None, ssl_certfile: str | None
) -> dict[str, Any]:
    """Return the arguments of `uvicorn.Config` that do not depend on how the app is run.

    Raises:
        ArgumentError: As in `ApiServer.fire`.
    """
    if (ssl_keyfile is None) != (ssl_certfile is None):
        missing = "ssl_keyfile" if ssl_keyfile is None else "ssl_certfile"
        raise ArgumentError(f"{missing} is missing; HTTPS needs both files, HTTP none")
    if log_level not in uvicorn.config.LOG_LEVELS:
        levels = ", ".join(uvicorn.config.LOG_LEVELS)
        raise ArgumentError(f"log_level is '{log_level}'; use one of {levels}")
    return {
        "log_level": "warning" if log_level == "info" else log_level,  # uvicorn's lines would repeat ours
        "log_config": _log_config(log_level),
        "access_log": False,  # `RequestIds` logs each request
        "h11_max_incomplete_event_size": options.max_header_bytes,
        "ssl_keyfile": ssl_keyfile,
        "ssl_certfile": ssl_certfile,
        "timeout_keep_alive": _KEEP_CONNECTION_S,
    }


def address_of(host: str, is_https: bool) -> str:
    """Return a server's URL without its port."""
    return f"{'https' if is_https else 'http'}://{f'[{host}]' if ':' in host else host}"


def _log_config(log_level: str) -> dict[str, Any]:
    """Return uvicorn's logging configuration with this server's logger; the program's own handlers take precedence."""
    config = copy.deepcopy(uvicorn.config.LOGGING_CONFIG)
    handlers = [] if logging.getLogger().hasHandlers() else ["default"]
    level = uvicorn.config.LOG_LEVELS[log_level]
    config["loggers"]["unspool.serve"] = {"handlers": handlers, "level": level, "propagate": True}
    return config


def _by_name(models: Any) -> Mapping[str, Any]:
    """Return a mapping of models, or one model, as models by name."""
    if models is None:
        raise ArgumentError("there is no model; pass a StreamGenerator, models by name, or a function")
    if can_serve(models):
        return {as_served(models).inference_name or "model": models}
    if not isinstance(models, Mapping):
        raise TypeError(
            f"a model is of type {type(models).__name__}; pass a StreamGenerator, models by name, or a function"
        )
    if not models:
        raise ArgumentError("there is no model; the mapping is empty")
    if type(models) is dict:  # another mapping may create its models on access
        for name, model in models.items():
            if not isinstance(name, str) or not can_serve(model):
                raise TypeError(
                    f"models[{name!r}] is of type {type(model).__name__}; it needs a stream method, as "
                    "StreamGenerator has"
                )
    named: Mapping[str, Any] = models
    return named


def summary_of(address: str, models: Mapping[str, ServedModel]) -> str:
    """Return a line with the address and what is served there."""
    names = list(models)
    if type(models) is dict and len(names) <= _MOST_SHOWN:
        served = "; ".join(f"model {name}{_facts_of(model)}" for name, model in models.items())
    else:
        more = ", …" if len(names) > _MOST_SHOWN else ""
        served = f"{len(names)} models: {', '.join(names[:_MOST_SHOWN])}{more}"
    return f"ready at {address}: {served}; unspool {__version__}"


def _facts_of(model: ServedModel) -> str:
    try:
        format = model.format_name()
    except UnspoolError:
        format = "unknown"
    facts = {"format": format, **model.facts}
    return "".join(f", {name} {value}" for name, value in facts.items() if value)

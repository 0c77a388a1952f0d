"""`unspool serve --workers`: several processes on one socket, under uvicorn's supervisor.

The supervisor restarts a process that has died, and passes on the signal to stop. Each process loads the models and
answers the requests that it accepts. Processes share no state.
"""

from __future__ import annotations

import inspect
import logging
import multiprocessing
import os
import signal
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

import uvicorn
from prometheus_client import CollectorRegistry, start_http_server
from uvicorn.supervisors import Multiprocess

from unspool.errors import ArgumentError, StreamError
from unspool.serve.api_server import LAST_EVENTS_S, address_of, summary_of, uvicorn_settings
from unspool.serve.app import create_app
from unspool.serve.guard import listen_at
from unspool.serve.http.metrics import FOLDER, ProcessesCollector
from unspool.serve.http.timed_protocol import timed_protocol
from unspool.serve.settings import ListenOptions, ServeOptions
from unspool.serve.state import ServerState

__all__ = ["serve_processes"]

_log = logging.getLogger("unspool.serve")

# Seconds until a process must answer the supervisor; it imports unspool first.
_START_S = 120

Models = Callable[[], Mapping[str, Any]]


def serve_processes(make: Callable[[], tuple[Models, ServeOptions]], listen: ListenOptions) -> None:
    """Serve until SIGINT or SIGTERM, as `ApiServer.fire` does.

    Args:
        make: Returns the function that loads the models, and the options. It is pickled.

    Raises:
        ArgumentError: The system does not support several processes, or an option needs a single one.
        StreamError: The models cannot be loaded.
    """
    _, options = make()
    if os.name != "posix":
        raise ArgumentError("--workers needs Linux or macOS; leave it out")
    if options.response_store_mb:
        raise ArgumentError(
            "--response-store-mb keeps responses in one process, and --workers asks another one for them; leave one out"
        )
    if options.record is not None and options.record_mb < listen.workers:
        raise ArgumentError(
            f"--record-mb is {options.record_mb:g}; pass 1 or more for each of {listen.workers} workers"
        )
    settings = uvicorn_settings(options, listen.log_level, listen.ssl_keyfile, listen.ssl_certfile)
    settings["timeout_graceful_shutdown"] = int(options.drain_timeout_s) + LAST_EVENTS_S
    if "timeout_worker_healthcheck" in inspect.signature(uvicorn.Config).parameters:
        settings["timeout_worker_healthcheck"] = _START_S
    config = _ProcessConfig(make, listen.workers, host=listen.host, port=listen.port, **settings)
    socket = config.bind_socket()
    config.port = socket.getsockname()[1]
    metrics: Any = None
    with tempfile.TemporaryDirectory(prefix="unspool-metrics-") as folder:
        os.environ[FOLDER] = folder
        if listen.metrics_port != -1:
            registry = CollectorRegistry()
            ProcessesCollector(registry, folder)
            metrics, _ = start_http_server(listen.metrics_port, listen.host, registry=registry)
        try:
            # uvicorn before about 0.40 has the parameter `target`; later versions choose the target themselves.
            takes_target = "target" in inspect.signature(Multiprocess).parameters
            supervise: Any = Multiprocess
            target = {"target": uvicorn.Server(config).run} if takes_target else {}
            supervise(config, sockets=[socket], **target).run()
        finally:
            del os.environ[FOLDER]
            socket.close()
            if metrics is not None:
                metrics.shutdown()
                metrics.server_close()
    if config.has_failed.value:
        raise StreamError("the models cannot be loaded; the log says why")


class _ProcessConfig(uvicorn.Config):
    """uvicorn's settings, which are pickled for each process; each process makes its app from them."""

    def __init__(self, make: Callable[[], tuple[Models, ServeOptions]], count: int, **settings: Any) -> None:
        super().__init__("unspool", workers=count, **settings)
        self._make = make
        spawning = multiprocessing.get_context("spawn")
        self._ready_count: Any = spawning.Value("i", 0)
        self.has_failed: Any = spawning.Value("b", False)

    def load(self) -> None:
        models, options = self._make()
        app = create_app(models, options, on_failure=self._fail, on_ready=lambda: self._announce(state))
        state: ServerState = app.state.server
        listen_at(state, self.host)
        self.app = app
        self.http = timed_protocol(options.read_timeout_s, options.max_header_bytes, state.drain)
        super().load()

    def _announce(self, state: ServerState) -> None:
        """Log one line when the models of all processes are loaded."""
        with self._ready_count.get_lock():
            self._ready_count.value += 1
            is_last = self._ready_count.value == self.workers
        if is_last and state.models is not None:
            address = f"{address_of(self.host, self.ssl_keyfile is not None)}:{self.port}"
            _log.info("%s; %d processes", summary_of(address, state.models), self.workers)

    def _fail(self) -> None:
        """End all processes: a failure here would occur in each of them."""
        self.has_failed.value = True
        os.kill(os.getppid(), signal.SIGTERM)

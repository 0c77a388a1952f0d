"""`vInferenceApiServer`: `ApiServer` with EasyDeL's arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unspool.serve import ApiServer, ServeOptions

__all__ = ["vInferenceApiServer"]


class vInferenceApiServer(ApiServer):
    """Serves engines over HTTP; `fire()` runs the server.

    Args:
        inference_map: An engine, which is served under its `inference_name`, or engines by name.
        inference_init_call: A function that returns an engine or engines by name, instead of `inference_map`. It is
            called while the server already answers /liveness.
        max_workers: Maximum number of answers that are generated at the same time.
        allow_parallel_workload, oai_like_processor: No effect: answers always run in threads of their own, and
            OpenAI's content parts are always accepted.
        options: See `ApiServer`.

    Raises:
        ArgumentError, TypeError: As in `ApiServer`.
    """

    def __init__(
        self,
        inference_map: Any = None,
        inference_init_call: Callable[[], Any] | None = None,
        max_workers: int = ServeOptions.max_workers,
        allow_parallel_workload: bool = False,  # noqa: ARG002
        oai_like_processor: bool = True,  # noqa: ARG002
        *,
        options: ServeOptions | None = None,
    ) -> None:
        models = inference_init_call if inference_map is None else inference_map
        super().__init__(models, max_workers, options=options)

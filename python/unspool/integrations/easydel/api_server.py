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
        inference_init_call: Called instead, for either, while the server already answers /liveness.
        max_workers: How many answers are generated at a time.
        allow_parallel_workload, oai_like_processor: No effect: answers always run in threads of their own, and
            OpenAI's content parts are always read.
        options: As of `ApiServer`.

    Raises:
        ArgumentError, TypeError: As of `ApiServer`.
    """

    def __init__(
        self,
        inference_map: Any = None,
        inference_init_call: Callable[[], Any] | None = None,
        max_workers: int = 10,
        allow_parallel_workload: bool = False,  # noqa: ARG002
        oai_like_processor: bool = True,  # noqa: ARG002
        *,
        options: ServeOptions | None = None,
    ) -> None:
        models = inference_init_call if inference_map is None else inference_map
        super().__init__(models, max_workers, options=options)

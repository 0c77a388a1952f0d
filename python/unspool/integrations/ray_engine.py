"""Ray Serve deployments as engines: unspool's server in front of `ray.serve.llm`, or of any deployment that answers as
vLLM's completions endpoint does."""

from __future__ import annotations

import contextlib
import inspect
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

from unspool.core.needs import needs

with needs("ray,engine"):
    import msgspec
    from ray.exceptions import RayError
    from ray.serve.exceptions import RayServeException

from unspool.errors import EngineError
from unspool.serve.engines.vllm import VLlm

__all__ = ["DeploymentEngine"]

# Statuses of errors that the client must correct.
_OF_THE_REQUEST = frozenset({400, 413, 422, 429})


class DeploymentEngine(VLlm):
    """An engine whose answers come from a deployment, through its handle. Create it in a replica, for an `EngineModel`.

    The deployment receives the body of a request to vLLM's /v1/completions, with token ids. It returns the same as
    vLLM's server: server-sent events, singly or in lists, or their JSON. The options of a handle keep a conversation on
    one replica, if the deployment's request router supports sessions.

    Args:
        handle: The deployment's handle, such as `serve.get_app_handle("llm")`.
        model: The name of the model in the deployment.
        method: The name of the method that answers.
        make_request: Converts a body to a request. None: the method accepts the body, a dict. For `ray.serve.llm`:
            `lambda body: CompletionRequest(**body)`, from `ray.serve.llm.openai_api_models`.
        context_length: Maximum number of token ids in a prompt and its answer together; None: unknown.
    """

    def __init__(
        self,
        handle: Any,
        model: str,
        *,
        method: str = "completions",
        make_request: Callable[[dict[str, Any]], Any] | None = None,
        context_length: int | None = None,
    ) -> None:
        self._http: Any = _Handle(handle, method, make_request)
        self.model_name, self.context_length = model, context_length

    async def check_ready(self) -> None:
        """Do nothing: Ray knows which replicas are ready."""

    def __str__(self) -> str:
        return f"deployment {self._http.name}"


class _Handle:
    """A handle that replaces an engine's HTTP connection."""

    def __init__(
        self, handle: Any, method: str, make_request: Callable[[dict[str, Any]], Any] | None
    ) -> None:
        self._handle, self._method, self._make_request = handle, method, make_request
        self.name = getattr(handle, "deployment_name", "?")

    async def events(
        self, path: str, body: dict[str, Any], decoder: Any, headers: Mapping[str, str]
    ) -> AsyncGenerator[Any, None]:
        """Yield the events of the deployment's answer, decoded. Closing the generator cancels the request."""
        del path
        request = body if self._make_request is None else self._make_request(body)
        options: dict[str, Any] = {"stream": True, "method_name": self._method}
        session = headers.get("x-session-id")
        if session and "session_id" in inspect.signature(self._handle.options).parameters:
            options["session_id"] = session
        handle = self._handle.options(**options)
        responses = handle.remote(request)
        try:
            async for item in responses:
                for data in _events_of(item):
                    yield self._event(data, decoder)
        except (RayError, RayServeException) as error:
            # Ray raises an error that is derived from the task's own error, and whose text has the whole traceback.
            cause = getattr(error, "cause", None)
            said = error if cause is None else cause
            raise EngineError(
                f"deployment {self.name}: {str(said) or type(said).__name__}", 503, is_retryable=cause is None
            ) from None
        finally:
            with contextlib.suppress(RayError, RayServeException):
                responses.cancel()

    def _event(self, data: bytes, decoder: Any) -> Any:
        try:
            event = decoder.decode(data)
        except msgspec.DecodeError as error:
            raise EngineError(f"deployment {self.name} sends what is no event: {error}") from None
        if event.error is not None:
            details = event.error if isinstance(event.error, dict) else {"message": event.error}
            code = details.get("code")
            status = code if isinstance(code, int) and code in _OF_THE_REQUEST else 502
            raise EngineError(f"deployment {self.name}: {details.get('message')}", status)
        return event

    async def aclose(self) -> None:
        """Do nothing: the handle belongs to Ray."""


def _events_of(item: Any) -> list[bytes]:
    """Return the JSON events in one item that a deployment yields."""
    if isinstance(item, (list, tuple)):
        return [data for part in item for data in _events_of(part)]
    if isinstance(item, bytes):
        item = item.decode("utf-8", "replace")
    if isinstance(item, str):
        lines = (line.removeprefix("data:").strip() for line in item.splitlines())
        return [line.encode() for line in lines if line and line != "[DONE]"]
    if hasattr(item, "model_dump"):  # ray.serve.llm's ErrorResponse, and vLLM's own chunks
        item = item.model_dump()
    return [json.dumps(item).encode()]

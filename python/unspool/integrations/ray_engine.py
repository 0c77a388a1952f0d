"""Ray Serve's deployments as engines: our server in front of `ray.serve.llm`, or of any that answers as vLLM's completions do."""

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

# Statuses of an error that are the client's to mend.
_OF_THE_REQUEST = frozenset({400, 413, 422, 429})


class DeploymentEngine(VLlm):
    """An engine whose answers come from a deployment, through its handle. Make it in a replica, for an `EngineModel`.

    The deployment gets the body of vLLM's /v1/completions, with token ids, and gives what vLLM's server does: server-sent
    events, singly or in lists, or their JSON. A handle's options keep a conversation at one replica, if the deployment's
    request router heeds sessions.

    Args:
        handle: Such as `serve.get_app_handle("llm")`.
        model: The name of the model there.
        method: The method that answers.
        make_request: Makes a request of a body. None: the method takes the body, a dict. For `ray.serve.llm`:
            `lambda body: CompletionRequest(**body)`, from `ray.serve.llm.openai_api_models`.
        context_length: The most token ids of a prompt and its answer together; None: not known here.
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
        """Nothing: Ray knows which replicas answer."""

    def __str__(self) -> str:
        return f"deployment {self._http.name}"


class _Handle:
    """A handle in the place of an engine's address."""

    def __init__(
        self, handle: Any, method: str, make_request: Callable[[dict[str, Any]], Any] | None
    ) -> None:
        self._handle, self._method, self._make_request = handle, method, make_request
        self.name = getattr(handle, "deployment_name", "?")

    async def events(
        self, path: str, body: dict[str, Any], decoder: Any, headers: Mapping[str, str]
    ) -> AsyncGenerator[Any, None]:
        """The deployment's answer, decoded. Closing the generator cancels the request."""
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
            # A task's own error has Ray's as a base, and lists the whole traceback.
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
            given = event.error if isinstance(event.error, dict) else {"message": event.error}
            code = given.get("code")
            status = code if isinstance(code, int) and code in _OF_THE_REQUEST else 502
            raise EngineError(f"deployment {self.name}: {given.get('message')}", status)
        return event

    async def aclose(self) -> None:
        """Nothing: the handle is Ray's."""


def _events_of(item: Any) -> list[bytes]:
    """The JSON of what a deployment yields at a time."""
    if isinstance(item, (list, tuple)):
        return [data for one in item for data in _events_of(one)]
    if isinstance(item, bytes):
        item = item.decode("utf-8", "replace")
    if isinstance(item, str):
        lines = (line.removeprefix("data:").strip() for line in item.splitlines())
        return [line.encode() for line in lines if line and line != "[DONE]"]
    if hasattr(item, "model_dump"):  # ray.serve.llm's ErrorResponse, and vLLM's own chunks
        item = item.model_dump()
    return [json.dumps(item).encode()]

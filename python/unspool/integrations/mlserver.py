"""MLServer: `StreamRuntime` answers in one piece or as a stream, over REST and gRPC.

Set "implementation": "unspool.integrations.mlserver.StreamRuntime" in a model-settings.json; see
docs/mlserver.md. MLServer reloads this module for each model. State that must survive a reload is in
`_loaded`, and no code here relies on the identity of a class of this module.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import logging
import multiprocessing
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unspool.core.needs import needs

with needs("mlserver", only_if=", with a Python before 3.13"):
    from mlserver import MLModel, ModelSettings
    from mlserver.errors import MLServerError
    from mlserver.handlers import custom_handler
    from mlserver.parallel.worker import Worker
    from mlserver.types import InferenceRequest, InferenceResponse, MetadataTensor, TensorData
    from mlserver.utils import get_model_uri
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

from unspool._core import WireWriter
from unspool.core.records import Record
from unspool.errors import ArgumentError
from unspool.serve import ServeOptions, create_app
from unspool.serve.http.api_errors import ApiError, as_api_error, error_type
from unspool.serve.models.begin_answer import begin_answer, usage_of
from unspool.serve.models.call_factory import call_factory
from unspool.serve.models.check_answer import check_values, has_schemas, no_tool_call
from unspool.serve.models.load_checkpoint import load_checkpoint
from unspool.serve.models.stream_adapter import as_served
from unspool.serve.setting_table import read_settings
from unspool.serve.settings import ModelOptions
from unspool.serve.wires.inference_request import INPUTS, read_inference_request

if TYPE_CHECKING:
    from unspool.generation.delta_stream import DeltaStream
    from unspool.serve.state import ServerState
    from unspool.serve.wires.generation_request import GenerationRequest

__all__ = ["RuntimeSettings", "StreamRuntime"]

_log = logging.getLogger("unspool.mlserver")

# The loaded runtimes, for the OpenAI routes, which all models share; the list survives a reload.
_loaded: list[StreamRuntime] = globals().get("_loaded", [])


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeSettings(Record):
    """The settings in `parameters.extra` of a model-settings.json.

    Attributes:
        factory: "module:function", which returns a `StreamGenerator` or a compatible object (the model's
            folder is searched first). "demo": a model that replays the cases of `format`. None: the
            checkpoint at `parameters.uri`.
        format: As for `StreamGenerator`; "auto" keeps the format of a factory's model.
        reasoning, backend: As for `StreamGenerator`.
        device, dtype, max_new_tokens: As for `load_checkpoint`.
        delay_s: Seconds per token of a demo.
        stream_errors: How a stream reports an error: in its last response ("inband") or by raising ("raise",
            which only gRPC clients can see). "auto": in band if the request came over HTTP.
        max_workers, max_queue, stream_timeout_s, reasoning_field, incomplete_calls, stop_in, strict_markers: As for
            `ServeOptions`.
    """

    factory: str | None = None
    format: str = ModelOptions.format
    reasoning: str | None = ModelOptions.reasoning
    backend: str = ModelOptions.backend
    device: str | None = ModelOptions.device
    dtype: str = ModelOptions.dtype
    max_new_tokens: int = 1024
    delay_s: float = 0.0
    max_workers: int = ServeOptions.max_workers
    max_queue: int = ServeOptions.max_queue
    stream_timeout_s: float | None = ServeOptions.stream_timeout_s
    stream_errors: str = "auto"
    reasoning_field: str = ServeOptions.reasoning_field
    incomplete_calls: str = ServeOptions.incomplete_calls
    stop_in: str = ServeOptions.stop_in
    strict_markers: bool = ServeOptions.strict_markers

    def _check(self) -> None:
        for name, choices in (("backend", _BACKENDS), ("stream_errors", _STREAM_ERRORS)):
            if (value := getattr(self, name)) not in choices:
                raise ArgumentError(f"{name} is '{value}'; use {' or '.join(choices)}")
        self.to_options()

    def to_options(self) -> ServeOptions:
        """Return the settings for the OpenAI routes, which all models share: the fields that `ServeOptions` has too.

        Raises:
            ArgumentError: As in `ServeOptions`.
        """
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return read_settings(ServeOptions, values)


_BACKENDS = ("transformers", "native")
_STREAM_ERRORS = ("auto", "inband", "raise")


class _LoadedModels(Mapping[str, Any]):
    """The models of all runtimes, by name and by name:version. The plain name refers to the version that was loaded
    last."""

    def __getitem__(self, name: str) -> Any:
        return self._by_name()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name())

    def __len__(self) -> int:
        return len(self._by_name())

    @staticmethod
    def _by_name() -> dict[str, Any]:
        models = {}
        for runtime in _loaded:
            models[runtime.name] = runtime.model
            if runtime.version:
                models[f"{runtime.name}:{runtime.version}"] = runtime.model
        return models


class _Delegated(Response):
    """A response that another application produces."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__()
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def _route(path: str, method: str = "POST") -> Any:
    async def endpoint(self: StreamRuntime, _: Request) -> Response:
        return _Delegated(self.app)

    return custom_handler(path, method)(endpoint)


class StreamRuntime(MLModel):  # type: ignore[misc]
    """An MLServer runtime that streams text, reasoning and tool calls.

    Attributes:
        model: The generating model, once it is loaded.
        app: The application under /v1: the server of `unspool.serve`, for all loaded models.

    Raises:
        ArgumentError: MLServer runs models in parallel workers, which cannot stream; or `parameters.extra`
            contains a key that `RuntimeSettings` does not have.
    """

    chat_completions = _route("/v1/chat/completions")
    completions = _route("/v1/completions")
    responses = _route("/v1/responses")
    messages = _route("/v1/messages")
    models = _route("/v1/models", "GET")

    def __init__(self, settings: ModelSettings) -> None:
        _refuse_workers(settings)
        super().__init__(settings)
        parameters = settings.parameters
        extra = dict((parameters and parameters.extra) or {})
        if parameters and parameters.format:  # set from MLSERVER_MODEL_FORMAT
            extra.setdefault("format", parameters.format)
        self.options = RuntimeSettings.from_dict(extra)
        self.model: Any = None
        self.app = create_app(_LoadedModels(), self.options.to_options())

    async def load(self) -> bool:
        """Load the model in a thread; meanwhile MLServer answers /v2/health/live.

        Raises:
            ArgumentError: No model is named, or the factory does not return a model.
        """
        _refuse_workers(self.settings)
        self.model = await asyncio.to_thread(self._make_model, await self._find_checkpoint())
        self.inputs = self.settings.inputs or [
            MetadataTensor(name=name, datatype=types[0], shape=[-1]) for name, types in INPUTS.items()
        ]
        self.outputs = self.settings.outputs or [
            MetadataTensor(name=name, datatype="BYTES", shape=[-1, 1], parameters={"content_type": kind})
            for name, kind in (("output", "str"), ("delta", "json"), ("message", "json"))
        ]
        _loaded.append(self)
        return True

    async def unload(self) -> bool:
        """Unload the model; answers in progress keep it until they end."""
        with contextlib.suppress(ValueError):
            _loaded.remove(self)
        self.model = None
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        """Return the whole answer: the outputs `output` (its text) and `message`, with one row per answer.

        Raises:
            MLServerError: 400 for an invalid request, 429 if too many requests wait, 504 at a timeout, 500 if the
                model fails.
        """
        try:
            request = self._read(payload, ("output", "message"))
            async with self._state.limits.turn(), await self._begin(request) as stream:
                writer = self._writer(payload, request, stream, stream=False)
                while await stream.ready():
                    stream.drain_to(writer)
                result = stream.result
                await _check_answers(request, stream)
                return _response(writer.body(usage_of(result), stop_sequence=result.stop_reason), payload)
        except Exception as error:
            raise _raised(error) from error

    async def predict_stream(
        self, payloads: AsyncIterator[InferenceRequest]
    ) -> AsyncGenerator[InferenceResponse, None]:
        """Stream the answers to the requests, one after the other; deltas that are ready together share a response.

        `parameters.index` counts the answers of all requests. If a client disconnects, its model stops within
        two steps.

        Raises:
            MLServerError: As in `predict`, after the deltas so far. Over HTTP, MLServer has already sent 200,
                so the last response reports the error instead.
        """
        first_index = 0
        async for payload in payloads:
            count = 1
            async with contextlib.aclosing(self._respond(payload)) as responses:
                async for response in responses:
                    if response.parameters.event != "error":
                        count = max(count, response.parameters.index + 1)
                        response.parameters.index += first_index
                    yield response
            first_index += count

    async def _respond(self, payload: InferenceRequest) -> AsyncGenerator[InferenceResponse, None]:
        writer = self._writer(payload)
        try:
            request = self._read(payload, ("output", "delta"))
            async with self._state.limits.turn(), await self._begin(request) as stream:
                writer = self._writer(payload, request, stream)
                while await stream.ready():
                    for line in stream.drain_to(writer).splitlines():
                        yield _response(line, payload)
                await _check_answers(request, stream)
                result = stream.result
                last = writer.end(usage_of(result), stop_sequence=result.stop_reason)
        except Exception as error:
            if not self._reports_in_band(payload):
                raise _raised(error) from error
            sent = as_api_error(error)
            if sent.status >= 500:
                _log.error("%s", sent.message, exc_info=error)
            last = writer.fail(sent.message, type=error_type(sent.status, "openai"), code=sent.code)
        for line in last.splitlines():
            yield _response(line, payload)

    def _read(self, payload: InferenceRequest, outputs: tuple[str, ...]) -> GenerationRequest:
        if self.model is None:
            raise ApiError(503, f"the model '{self.name}' is not loaded")
        unknown = {output.name for output in payload.outputs or ()}.difference(outputs)
        if unknown:
            raise ApiError(400, f"there is no output {sorted(unknown)}; this has {' and '.join(outputs)}")
        parameters = dict((payload.parameters and payload.parameters.model_extra) or {})
        inputs = [(tensor.name, tensor.data.root) for tensor in payload.inputs]
        return read_inference_request(self.name, inputs, parameters)

    async def _begin(self, request: GenerationRequest) -> DeltaStream:
        starting = asyncio.ensure_future(
            asyncio.to_thread(begin_answer, as_served(self.model), request, self._state.answer_defaults)
        )
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:  # the thread still runs, so cancel the stream that it starts
            starting.add_done_callback(_cancel_stream)
            raise

    def _writer(
        self,
        payload: InferenceRequest,
        request: GenerationRequest | None = None,
        begun: DeltaStream | None = None,
        stream: bool = True,
    ) -> WireWriter:
        return WireWriter(
            "open_inference",
            model=self.name,
            id=payload.id or None,
            n=(request and request.sampling.n) or 1,
            stream=stream,
            sse=False,
            include_usage=True,
            reasoning_field=self.options.reasoning_field,
            incomplete_calls=(request and request.incomplete_calls) or self.options.incomplete_calls,
            prompt_token_count=begun.usage.prompt_tokens if begun else 0,
            extra={"model_version": self.version} if self.version else None,
        )

    def _reports_in_band(self, payload: InferenceRequest) -> bool:
        if self.options.stream_errors != "auto":
            return self.options.stream_errors == "inband"
        return _is_http(payload)

    @property
    def _state(self) -> ServerState:
        state: ServerState = self.app.state.server
        return state

    async def _find_checkpoint(self) -> str:
        if self.options.factory is not None:
            return ""
        if not self.settings.parameters or not self.settings.parameters.uri:
            raise ArgumentError("there is no model; set parameters.uri to a checkpoint, or extra.factory")
        return str(await get_model_uri(self.settings))

    def _make_model(self, uri: str) -> Any:
        options = self.options
        if options.factory == "demo":
            from unspool.serve.models.demo_model import DemoModels

            return DemoModels(options.delay_s)["hermes" if options.format == "auto" else options.format]
        if options.factory is None:
            return load_checkpoint(
                uri,
                format=options.format,
                reasoning=options.reasoning,
                backend=options.backend,
                device=options.device,
                dtype=options.dtype,
                max_new_tokens=options.max_new_tokens,
                strict_markers=options.strict_markers,
            )
        source = getattr(self.settings, "_source", None)  # the model-settings.json
        model = call_factory(options.factory, str(Path(source).parent) if source else None)
        if options.format != "auto" or options.reasoning is not None:
            format = None if options.format == "auto" else options.format
            model = as_served(model).with_format(format, options.reasoning)
        return model


def _refuse_workers(settings: ModelSettings) -> None:
    """Raise if MLServer runs this model in a worker process, because workers cannot stream.

    MLServer does not pass its own settings to a model. In the server process, the workers are child processes; in a
    worker, this process is one.
    """
    if settings.__dict__.get("parallel_workers") == 0:  # deprecated but still respected
        return
    processes = [multiprocessing.current_process(), *multiprocessing.active_children()]
    if any(isinstance(process, Worker) for process in processes):
        raise ArgumentError("MLServer's workers cannot stream; set parallel_workers to 0 in settings.json")


async def _check_answers(request: GenerationRequest, stream: DeltaStream) -> None:
    for choice in stream.result.choices:
        if choice.finish_reason not in ("stop", "tool_calls"):
            continue
        if request.tools.must_call and not choice.message.tool_calls:
            raise no_tool_call(request, choice.message.content)
        if has_schemas(request):
            await asyncio.to_thread(check_values, request, choice.message)


def _cancel_stream(started: asyncio.Future[DeltaStream]) -> None:
    if not started.cancelled() and started.exception() is None:
        started.result().cancel()


def _response(line: bytes, payload: InferenceRequest) -> InferenceResponse:
    """Build a response with the requested outputs, in types that the transport supports."""
    response = InferenceResponse.model_validate_json(line)
    wanted = {output.name for output in payload.outputs or ()}
    if wanted:
        response.outputs = [output for output in response.outputs if output.name in {*wanted, "error"}]
    if not _is_http(payload):
        for output in response.outputs:
            output.data = TensorData([text.encode() for text in output.data])
        for name, value in response.parameters.model_extra.items():
            if isinstance(value, (float, list)):  # MLServer omits them
                setattr(response.parameters, name, json.dumps(value))
    return response


def _is_http(payload: InferenceRequest) -> bool:
    """Whether a request came over HTTP: its metadata then contains `host`, unlike that of gRPC."""
    headers = payload.parameters.headers if payload.parameters else None
    return "host" in (headers or {})


def _raised(error: Exception) -> MLServerError:
    """Return the error that MLServer converts to a status. gRPC supports 400, 404 and 500 (and 422 under a wrong
    name)."""
    sent = as_api_error(error)
    if sent.status >= 500:
        _log.error("%s", sent.message, exc_info=error)
    return MLServerError(sent.message, 400 if sent.status == 422 else sent.status)

"""Answers a request: waits for its turn, runs the model, sends the bytes, and always ends the response."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from unspool._core import Delta, WireWriter
from unspool.serve.http.api_errors import (
    ApiError,
    Dialect,
    as_api_error,
    error_response,
    error_type,
    traceback_of,
)
from unspool.serve.http.metrics import RequestMetrics
from unspool.serve.http.request_ids import current_request_id
from unspool.serve.http.streaming import cancel_on_disconnect, pulses
from unspool.serve.models.begin_answer import begin_answer, usage_of
from unspool.serve.models.check_answer import check_values, has_schemas, no_tool_call
from unspool.streams.recording.recorder import Recording

if TYPE_CHECKING:
    from unspool.core.stream.stream_options import IncompleteCalls
    from unspool.generation.delta_stream import DeltaStream
    from unspool.generation.served_model import ServedModel
    from unspool.serve.state import ServerState
    from unspool.serve.wires.generation_request import GenerationRequest

__all__ = ["Answer"]

_log = logging.getLogger("unspool.serve")

_EVENT_STREAM = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    "x-accel-buffering": "no",  # keeps nginx from buffering the events
}


_DIALECTS: dict[str, Dialect] = {"messages": "anthropic", "google": "google"}

# Keep-alive bytes before the first event. A `ping` event would precede the first event of Messages.
_COMMENT = b": keep-alive\n\n"
# Google's protocol has no comments; the same bytes as `WireWriter.keep_alive`.
_SILENCE = b"\n\n"


class Answer:
    """An ASGI response that is sent while the model generates it.

    An error before the first byte has its HTTP status; a later one is the protocol's own error event. If the
    client disconnects, the generation is cancelled, whether the client waits for its turn, a body or events.
    """

    def __init__(
        self, state: ServerState, request: GenerationRequest, model: ServedModel, metrics: RequestMetrics
    ) -> None:
        self._state = state
        self._request = request
        self._metrics = metrics
        metrics.model = model.served_name or request.model
        self._model = model.with_metadata(request.metadata)
        self._dialect = _DIALECTS.get(request.protocol, "openai")
        self._choices_with_calls: set[int] = set()
        self._has_schemas = has_schemas(request)
        # Whether the status has been sent, and whether events may have been sent.
        self._has_begun = False
        self._has_events = False
        # The writer of a stream that has not ended, and its first bytes until they are sent.
        self._open_writer: WireWriter | None = None
        self._begun = b""
        self._is_whole = False
        self._recording: Recording | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._state.answer_count += 1
        if self._state.recorder is not None:
            body, echo = scope.get("unspool.body"), self._request.echo or ()
            self._recording = Recording(
                self._state.recorder, current_request_id.get(), scope["path"], body, echo, send
            )
            send = self._recording.send
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(cancel_on_disconnect, receive, group.cancel_scope)
                with anyio.CancelScope() as running, self._state.cut_off_after_drain(running):
                    try:
                        await self._run(scope, receive, send)
                    except Exception as error:
                        # Raised before the first event; `_send_events` reports later errors.
                        await self._refuse(error, scope, receive, send)
                if running.cancelled_caught and not self._is_whole:
                    await self._cut_off(scope, receive, send)
                group.cancel_scope.cancel()
        finally:
            self._state.answer_count -= 1
            if self._recording is not None:
                self._recording.end()

    async def _cut_off(self, scope: Scope, receive: Receive, send: Send) -> None:
        """End an answer that still runs after the time to drain."""
        error = ApiError(
            503,
            "the server is stopping and has cut this answer off; try again",
            code="server_stopping",
            headers={"Retry-After": str(self._state.options.retry_after_s)},
        )
        if self._has_begun:
            last = self._begun + self._fail(self._open_writer or self._writer(0), error)
            await send({"type": "http.response.body", "body": last, "more_body": False})
        else:
            await self._refuse(error, scope, receive, send)

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> None:
        limits = self._state.limits
        if not limits.take():
            async with self._silence_filled(send):
                await limits.wait()
        try:
            self._metrics.got_turn()
            await self._generate(scope, receive, send)
        finally:
            limits.give_back()

    async def _generate(self, scope: Scope, receive: Receive, send: Send) -> None:
        stream = await self._state.preparing.run(self._start, discard=lambda stream: stream.cancel())
        if self._recording is not None:
            self._recording.stream = stream
        try:
            async with contextlib.aclosing(self._pulses(stream)) as beats:
                if self._request.stream:
                    await self._send_events(stream, beats, send)
                else:
                    body = await self._collect(stream, beats)
                    self._request.keep(body)
                    self._is_whole = True
                    await Response(body, media_type="application/json")(scope, receive, send)
        finally:  # stops the model, also if the client has disconnected
            await stream.aclose()
            self._metrics.got_result(stream.result)

    @contextlib.asynccontextmanager
    async def _silence_filled(self, send: Send) -> AsyncGenerator[None, None]:
        """Send comments while a stream is queued, so that proxies keep the connection open."""
        if not self._request.stream:
            yield
            return
        filling = asyncio.ensure_future(self._fill_silence(send))
        try:
            yield
        finally:
            filling.cancel()
            # If the client has disconnected, sending the next event raises the same exception.
            await asyncio.gather(filling, return_exceptions=True)

    async def _fill_silence(self, send: Send) -> None:
        silence = _SILENCE if self._request.protocol == "google" else _COMMENT
        while True:
            await asyncio.sleep(self._state.options.keep_alive_s)
            await self._begin_events(send)
            await send({"type": "http.response.body", "body": silence, "more_body": True})

    async def _begin_events(self, send: Send) -> None:
        if not self._has_begun:
            kind = {} if self._request.sse else {"content-type": "application/json; charset=utf-8"}
            headers = [(key.encode(), value.encode()) for key, value in {**_EVENT_STREAM, **kind}.items()]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            self._has_begun = True

    def _pulses(self, stream: DeltaStream) -> AsyncGenerator[bool, None]:
        options = self._state.options
        return pulses(stream, options.keep_alive_s, options.flush_ms / 1000 if self._request.stream else 0.0)

    def _start(self) -> DeltaStream:
        """Render the template and start the model; runs in a thread."""
        request = self._request
        stream = begin_answer(self._model, request, self._state.answer_defaults)
        self._metrics.format = "none" if request.raw else self._model.format_name(request.tools.shown)
        # A conversation may be long, and only the start needs it.
        self._request = replace(request, prompt=None)
        return stream

    async def _collect(self, stream: DeltaStream, beats: AsyncGenerator[bool, None]) -> bytes:
        writer = self._writer(stream.usage.prompt_tokens)
        async for is_ready in beats:
            if is_ready:
                await self._write(stream, writer)
        result = stream.result
        return writer.body(usage_of(result), stop_sequence=result.stop_reason)

    async def _send_events(self, stream: DeltaStream, beats: AsyncGenerator[bool, None], send: Send) -> None:
        # An error before the first token or the first keep-alive still has its HTTP status.
        is_ready = await anext(beats, None)
        writer = self._writer(stream.usage.prompt_tokens)
        await self._begin_events(send)
        self._has_events = True
        self._open_writer, self._begun = writer, writer.begin()
        try:
            while is_ready is not None:
                ready = await self._write(stream, writer) if is_ready else writer.keep_alive()
                written, self._begun = self._begun + ready, b""
                if written:
                    await send({"type": "http.response.body", "body": written, "more_body": True})
                is_ready = await anext(beats, None)
            result = stream.result
            end = writer.end(usage_of(result), stop_sequence=result.stop_reason)
            self._request.keep(end)
            last = self._begun + end
        except Exception as error:
            last = self._fail(writer, error)
        self._is_whole = True
        await send({"type": "http.response.body", "body": last, "more_body": False})

    async def _write(self, stream: DeltaStream, writer: WireWriter) -> bytes:
        """Return the bytes of the deltas that are ready."""
        self._metrics.got_deltas(stream.held_bytes)
        if not (self._request.tools.must_call or self._has_schemas):
            return stream.drain_to(writer)
        deltas = stream.drain()
        if self._request.tools.must_call:
            self._check_calls(stream, deltas)
        for delta in deltas:
            if self._has_schemas and delta.finish_reason in ("stop", "tool_calls"):
                message = stream.message_of(delta.choice)
                await anyio.to_thread.run_sync(check_values, self._request, message)
        return stream.write_to(writer, deltas)

    def _check_calls(self, stream: DeltaStream, deltas: list[Delta]) -> None:
        """Raise ApiError before the finish of an answer that lacks its required call."""
        counts = "tool_call_end" if self._incomplete_calls == "withhold" else "tool_call_begin"
        for delta in deltas:
            if delta.kind == counts and delta.status in (None, "complete"):
                self._choices_with_calls.add(delta.choice)
            elif delta.finish_reason == "stop" and delta.choice not in self._choices_with_calls:
                raise no_tool_call(self._request, stream.message_of(delta.choice).content)

    @property
    def _incomplete_calls(self) -> IncompleteCalls:
        return self._request.incomplete_calls or self._state.options.incomplete_calls

    def _writer(self, prompt_token_count: int) -> WireWriter:
        request, options = self._request, self._state.options
        return WireWriter(
            request.protocol,
            model=request.model,
            n=request.sampling.n or 1,
            stream=request.stream,
            sse=request.sse,
            stream_arguments=request.stream_arguments,
            include_usage=request.include_usage,
            reasoning_field=options.reasoning_field,
            reasoning_events=options.reasoning_events,
            extra=request.echo,
            incomplete_calls=self._incomplete_calls,
            prompt_token_count=prompt_token_count,
            # Only these protocols have calls of custom tools.
            custom_tools=request.tools.custom
            if request.protocol in ("chat_completions", "responses")
            else (),
            namespaces=request.tools.namespaces,
        )

    def _fail(self, writer: WireWriter, error: Exception) -> bytes:
        """Return the protocol's error event."""
        self._metrics.status = "error"
        sent = as_api_error(error)
        _log_failure(error, sent)
        return writer.fail(sent.message, type=error_type(sent.status, self._dialect), code=sent.code)

    async def _refuse(self, error: Exception, scope: Scope, receive: Receive, send: Send) -> None:
        if self._has_events:  # too late for a status
            return
        if self._has_begun:
            last = self._fail(self._writer(0), error)
            await send({"type": "http.response.body", "body": last, "more_body": False})
            return
        sent = as_api_error(error)
        _log_failure(error, sent)
        await error_response(sent, self._dialect)(scope, receive, send)


def _log_failure(error: Exception, sent: ApiError) -> None:
    if sent.status >= 500 and not isinstance(error, ApiError):
        _log.error("request %s: %s\n%s", current_request_id.get(), sent.message, traceback_of(error))

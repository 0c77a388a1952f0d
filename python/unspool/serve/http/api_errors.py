"""Error responses for requests that cannot be served, in the form of each protocol."""

from __future__ import annotations

import traceback
from typing import Any, Literal

from starlette.responses import JSONResponse

from unspool.errors import ArgumentError, ChannelTimeoutError, ContextLengthError, EngineError
from unspool.serve.http.request_ids import current_request_id

__all__ = [
    "ApiError",
    "Dialect",
    "as_api_error",
    "dialect_of",
    "error_response",
    "error_type",
    "shortened",
    "traceback_of",
]

Dialect = Literal["openai", "anthropic", "google"]

# Error type of each status.
_OPENAI_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_ANTHROPIC_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
}
_GOOGLE_TYPES = {
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class ApiError(Exception):
    """The error response to a request.

    Args:
        status: The HTTP status.
        message: What is wrong, the value, and what to do.
        code: A stable identifier for programs, such as "model_not_found".
        param: The field that is wrong.
        headers: Further headers of the response.
        details: Further fields that Anthropic's clients read.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        headers: dict[str, str] | None = None,
        details: dict[str, Any] | None = None,
    ) -> None:
        message = shortened(message)
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.param = None if param is None else shortened(param)
        self.headers = headers
        self.details = details


# Characters that are kept of a message with a client's value. The end says what to do.
_LONGEST_BEGIN, _LONGEST_END = 1500, 500


def shortened(text: str) -> str:
    """Shorten a text for a response or the log: the middle of a long one is left out."""
    if len(text) > _LONGEST_BEGIN + _LONGEST_END:
        text = f"{text[:_LONGEST_BEGIN]} … {text[-_LONGEST_END:]}"
    # An exception's text may contain lone surrogates, for example in a file's name; they are escaped.
    return text.encode(errors="backslashreplace").decode()


def traceback_of(error: BaseException) -> str:
    """Return the traceback for the log, shortened, since its message may hold a client's value."""
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    return "".join(map(shortened, lines)).rstrip()


def dialect_of(path: str) -> Dialect:
    """Return the protocol in which a path's clients expect errors."""
    if path.startswith("/v1beta/") or path.endswith(
        (":generateContent", ":streamGenerateContent", ":countTokens")
    ):
        return "google"
    return "anthropic" if path.startswith("/v1/messages") else "openai"


def error_type(status: int, dialect: Dialect) -> str:
    """Return the error type of a status."""
    if dialect == "anthropic":
        return _ANTHROPIC_TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    if dialect == "google":
        return _GOOGLE_TYPES.get(status, "INTERNAL" if status >= 500 else "INVALID_ARGUMENT")
    return _OPENAI_TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")


def error_response(error: ApiError, dialect: Dialect) -> JSONResponse:
    """Return the HTTP response for an error."""
    kind = error_type(error.status, dialect)
    body: dict[str, Any]
    request_id = current_request_id.get()
    if dialect == "anthropic":
        body = {"type": "error", "error": {"type": kind, "message": error.message}}
        if error.details is not None:
            body["error"]["details"] = error.details
    elif dialect == "google":
        body = {"error": {"code": error.status, "message": error.message, "status": kind}}
    else:
        fields = {"message": error.message, "type": kind, "param": error.param, "code": error.code}
        body = {"error": fields}
    if request_id:
        body["request_id"] = request_id
    return JSONResponse(body, error.status, headers=error.headers)


def as_api_error(error: BaseException) -> ApiError:
    """Return the error response for a model's exception.

    An argument that the model rejects is a 400; any other exception is a 500. The exception's text is included,
    since the client usually is the operator.
    """
    if isinstance(error, ApiError):
        return error
    if isinstance(error, ContextLengthError):
        return ApiError(400, str(error), code="context_length_exceeded")
    if isinstance(error, ArgumentError) or _is_template_error(error):
        return ApiError(400, _without_python(str(error)), code="invalid_argument")
    if isinstance(error, EngineError):
        later = {"Retry-After": "1"} if error.status in (429, 503) else None
        return ApiError(error.status, str(error), code="engine_error", headers=later)
    if isinstance(error, ChannelTimeoutError):
        return ApiError(504, str(error), code="model_timeout")
    return ApiError(500, f"the model failed: {type(error).__name__}: {error}", code="model_failed")


# Advice in errors of the Python API, and the advice for HTTP clients.
_ADVICE = {
    "use backend='native', or leave": "leave",
    "pass format=, one of unspool.formats()": "the server needs --format, one of `unspool formats`",
}


def _without_python(text: str) -> str:
    for python, http in _ADVICE.items():
        text = text.replace(python, http)
    return text


def _is_template_error(error: BaseException) -> bool:
    """Whether a chat template rejects the messages with `raise_exception`."""
    return any(
        kind.__module__ == "jinja2.exceptions" and kind.__name__ == "TemplateError"
        for kind in type(error).__mro__
    )

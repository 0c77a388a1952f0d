"""Serves objects that are no `ServedModel` but can stream: the adapter, and who gets one."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unspool.errors import ArgumentError
from unspool.generation.answer_request import AnswerRequest
from unspool.generation.served_model import ServedModel

if TYPE_CHECKING:
    from typing_extensions import Self

    from unspool.generation.delta_stream import DeltaStream

__all__ = ["StreamAdapter", "as_served", "can_serve", "models_by_name"]


def can_serve(value: Any) -> bool:
    """Whether a value is a model: a `ServedModel`, or an object with a `stream` method."""
    return isinstance(value, ServedModel) or callable(getattr(value, "stream", None))


def as_served(model: Any) -> ServedModel:
    """Return a model as a `ServedModel`.

    Raises:
        TypeError: The value is not a model.
    """
    if isinstance(model, ServedModel):
        return model
    if not can_serve(model):
        raise TypeError(f"a model is of type {type(model).__name__}; subclass ServedModel")
    return StreamAdapter(model)


def models_by_name(models: Mapping[str, Any]) -> Mapping[str, ServedModel]:
    """Return models by name as `ServedModel`s; a mapping other than a dict is still asked at each access."""
    if type(models) is dict:
        return {name: as_served(model) for name, model in models.items()}
    return _AskedModels(models)


class _AskedModels(Mapping[str, ServedModel]):
    """The models of a mapping that may create them on access."""

    def __init__(self, models: Mapping[str, Any]) -> None:
        self._models = models

    def __getitem__(self, name: str) -> ServedModel:
        return as_served(self._models[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._models)

    def __len__(self) -> int:
        return len(self._models)


class StreamAdapter(ServedModel):
    """Serves an object of another class, which has only `stream(prompt, **options)`.

    Options with a default are passed only if the request sets them: `stop_in`, `strict_markers`, `prefill` and
    `response_format`. Other members of `ServedModel` are used if the object has them.

    Args:
        model: The object.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self.tokenizer, self.processor = self._own("tokenizer"), self._own("processor")
        self.template_names = self._own("template_names")
        self.inference_name, self.served_name = self._own("inference_name"), self._own("served_name")

    def _own(self, name: str, default: Any = None) -> Any:
        """Return a member of the object; the only place that asks what it has."""
        return getattr(self._model, name, default)

    def _method(self, name: str) -> Any:
        method = self._own(name)
        if method is None:
            raise ArgumentError(f"this model cannot {name.replace('_', ' ')}")
        return method

    def begin(self, request: AnswerRequest) -> DeltaStream:
        """Call the object's `stream`.

        Raises:
            ArgumentError: The request needs an option that `stream` does not have.
        """
        request.check_needs_no_torch()
        options: dict[str, Any] = {"prefill": request.prefill} if request.prefill else {}
        if request.response is not None:
            options["response_format"] = request.response.as_format()
        self._check_has(options)
        if self.context_length is not None:
            options["within_context"] = request.within_context
        stream: DeltaStream = self._model.stream(
            request.prompt,
            sampling=request.sampling,
            tools=request.tools,
            tool_choice=request.tool_choice,
            raw=request.raw,
            timeout=request.timeout_s,
            chat_template_kwargs=request.template_kwargs,
            **request.parsing,
            **options,
        )
        return stream

    def _check_has(self, options: Mapping[str, Any]) -> None:
        parameters = inspect.signature(self._model.stream).parameters if options else {}
        takes_any = any(item.kind is inspect.Parameter.VAR_KEYWORD for item in parameters.values())
        for name in options:
            if name not in parameters and not takes_any:
                raise ArgumentError(f"this model does not support a {name.replace('_', ' ')}; leave it out")

    def tokenize(
        self,
        prompt: Any,
        *,
        tools: Sequence[Any] | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        prefill: bool | str = False,
    ) -> list[int]:
        """Call the object's method."""
        options = {"prefill": prefill} if prefill else {}
        tokenize = self._method("tokenize")
        return list(tokenize(prompt, tools=tools, chat_template_kwargs=chat_template_kwargs, **options))

    def count_tokens(
        self,
        prompt: Any,
        *,
        tools: Sequence[Any] | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        prefill: bool | str = False,
    ) -> int:
        """Call the object's method."""
        options = {"prefill": prefill} if prefill else {}
        count = self._method("count_tokens")
        return int(count(prompt, tools=tools, chat_template_kwargs=chat_template_kwargs, **options))

    def format_name(self, tools: Any = None) -> str:
        """The object's answer; "" if it has none."""
        return str(self._own("format_name", super().format_name)(tools))

    def with_format(self, format: Any = None, reasoning: str | bool | None = None) -> Self:
        """Return an adapter of the object with another format."""
        return type(self)(self._own("with_format", super().with_format)(format, reasoning))

    def with_metadata(self, metadata: Mapping[str, Any]) -> ServedModel:
        """Return the object's model for a request with this metadata."""
        return as_served(self._own("with_metadata", super().with_metadata)(metadata))

    @property
    def context_length(self) -> int | None:
        """The object's; None if it has none."""
        length: int | None = self._own("context_length")
        return length

    @property
    def is_ready(self) -> bool:
        """The object's; True if it has none."""
        return bool(self._own("is_ready", True))

    @contextlib.asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Enter the object's, if it has one."""
        async with self._own("lifespan", super().lifespan)():
            yield

"""`ServedModel`: the base of everything that answers requests."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unspool.errors import ArgumentError
from unspool.generation.answer_request import AnswerRequest, read_answer_request

if TYPE_CHECKING:
    from typing_extensions import Self

    from unspool._core import ToolSchemas
    from unspool.generation.delta_stream import DeltaStream
    from unspool.generation.sampling_params import SamplingParams
    from unspool.generation.stream_result import StreamResult
    from unspool.writing.grammar_result import Grammar

__all__ = ["ServedModel"]


class ServedModel(ABC):
    """A model that answers requests. A subclass implements `begin`; everything else has a default.

    Its methods run in worker threads, except `lifespan`.

    Attributes:
        tokenizer, processor: They have the chat template, which the server checks before it renders messages. None:
            the model makes its own prompts.
        template_names: The variables that the chat template reads. None: found in the template, if there is one.
        inference_name: The name under which a server serves the model if it has no other name.
        served_name: The name in metrics; None: the name in the request.
    """

    tokenizer: Any = None
    processor: Any = None
    template_names: Iterable[str] | None = None
    inference_name: str | None = None
    served_name: str | None = None

    @abstractmethod
    def begin(self, request: AnswerRequest) -> DeltaStream:
        """Begin an answer, and return its deltas as a stream.

        Raises:
            ArgumentError: The model cannot fulfil the request. A server's client gets 400.
        """

    def stream(
        self,
        prompt: Any = None,
        *,
        input_ids: Any = None,
        inputs_embeds: Any = None,
        sampling: SamplingParams | Mapping[str, Any] | None = None,
        tools: Iterable[Any] | ToolSchemas | None = None,
        tool_choice: str | Mapping[str, Any] | None = "auto",
        response_format: Any = None,
        choice: Sequence[str] | None = None,
        regex: str | None = None,
        grammar: str | Grammar | None = None,
        prefill: bool | str = False,
        stop: str | Sequence[str] = (),
        raw: bool = False,
        timeout: float | None = None,
        stream_timeout: float | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        within_context: bool = False,
        flush_tokens: int = 1,
        flush_ms: float = 0,
        **generation_kwargs: Any,
    ) -> DeltaStream:
        """Begin an answer; iterate its deltas as they arrive, with `for` or `async for`.

        Args:
            prompt: Text; chat messages (put through the chat template, with `tools`); token ids; a mapping
                of model inputs; an object whose `to_dict()` returns one of these; or a function that returns one,
                called in the worker.
            input_ids: Token ids of shape (1, n), instead of `prompt` or in addition to `inputs_embeds`.
            inputs_embeds: Embeddings of shape (1, n, d).
            sampling: How tokens are chosen; None: as in the model's generation config.
            tools: As in `Parser`. If a function has `strict`, calls must fit the tools' schemas.
            tool_choice: As in `Parser`. "required" and a tool's name are enforced: after the reasoning the model
                writes only such calls.
            response_format: The JSON of the answer, as in chat completions: `{"type": "json_object"}` or
                `{"type": "json_schema", …}`; or a Pydantic model. `{"type": "grammar", "grammar": …}` has a grammar
                for the content, in Lark or GBNF. With tools, the answer is either this content or calls.
            choice, regex: The content must be one of these texts, or match this regular expression; as in
                `FormatFile.grammar`.
            grammar: A grammar for the whole answer, in llguidance's Lark. The model writes only what it allows, and
                the answer ends where the grammar ends. `FormatFile.grammar` and `json_grammar` make one.
            prefill: The beginning of the answer, which the model continues: a text as the model writes it, or True
                for the last message, which is the assistant's. The result has only the new text.
            stop: Stop strings; the text ends before the first match.
            raw: Report all text as content, without reasoning and calls.
            timeout, stream_timeout: Seconds without a token until StreamTimeout is raised.
            chat_template_kwargs: Passed on to `apply_chat_template`, such as `enable_thinking`.
            within_context: Raise ContextLengthError, before the model runs, if the prompt and the limit of this call do
                not fit into `context_length` together. A limit of the config or the model is lowered to fit, and the
                error is raised only if not even one token fits. False: the model may run beyond its positions.
            flush_tokens: Parse the ids of this many steps together, which costs less. The text does not change. With
                stop strings or a limit for the reasoning, each id is parsed at once.
            flush_ms: Parse earlier if the first of these ids is this many milliseconds old when another one arrives;
                0: do not.
            generation_kwargs: Options of `model.generate`, such as `max_new_tokens`; options of `Parser`,
                such as `skip_special_tokens`; and further model inputs, such as `attention_mask`.

        Raises:
            ArgumentError: More than one row, beam search, a limit below 1, an empty prompt, several greedy
                answers, a tokenizer whose format cannot be detected, a request that no grammar can enforce, or
                `prefill` with a grammar or without messages. Raised before any thread starts.
            ImportError: A grammar is needed, and llguidance is missing.
        """
        return self.begin(
            read_answer_request(
                prompt,
                input_ids=input_ids,
                inputs_embeds=inputs_embeds,
                sampling=sampling,
                tools=tools,
                tool_choice=tool_choice,
                response_format=response_format,
                choice=choice,
                regex=regex,
                grammar=grammar,
                prefill=prefill,
                stop=stop,
                raw=raw,
                timeout=timeout,
                stream_timeout=stream_timeout,
                chat_template_kwargs=chat_template_kwargs,
                within_context=within_context,
                flush_tokens=flush_tokens,
                flush_ms=flush_ms,
                **generation_kwargs,
            )
        )

    def astream(self, prompt: Any = None, **options: Any) -> DeltaStream:
        """Begin an answer as `stream` does, for `async for`; never blocks the event loop."""
        return self.stream(prompt, **options)

    def generate(self, prompt: Any = None, **options: Any) -> StreamResult:
        """Run `stream` to the end and return its result."""
        with self.stream(prompt, **options) as stream:
            for _ in stream:
                pass
            return stream.result

    def tokenize(
        self,
        prompt: Any,  # noqa: ARG002
        *,
        tools: Sequence[Any] | None = None,  # noqa: ARG002
        chat_template_kwargs: Mapping[str, Any] | None = None,  # noqa: ARG002
        prefill: bool | str = False,  # noqa: ARG002
    ) -> list[int]:
        """Return the token ids of a prompt.

        Args:
            prompt: As in `stream`: text, to which the tokenizer adds special tokens; messages, which the chat
                template renders up to the beginning of the answer; or token ids.
            tools, chat_template_kwargs, prefill: As in `stream`; they change what the chat template writes.

        Raises:
            ArgumentError: The prompt is empty or has an invalid type, or the model has no tokenizer.
        """
        raise ArgumentError("this model cannot tokenize")

    def count_tokens(
        self,
        prompt: Any,
        *,
        tools: Sequence[Any] | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        prefill: bool | str = False,
    ) -> int:
        """Count the token ids of a prompt, as in `usage.prompt_tokens` of its answer.

        The arguments and errors are those of `tokenize`.
        """
        ids = self.tokenize(prompt, tools=tools, chat_template_kwargs=chat_template_kwargs, prefill=prefill)
        return len(ids)

    def format_name(self, tools: Any = None) -> str:  # noqa: ARG002
        """The name of the format in which an answer with these tools is parsed; "": unknown."""
        return ""

    def with_format(
        self,
        format: Any = None,  # noqa: ARG002
        reasoning: str | bool | None = None,  # noqa: ARG002
    ) -> Self:
        """Return the same model with another format.

        Args:
            format, reasoning: As in `Parser`; None: unchanged.

        Raises:
            ArgumentError: The model has one format.
        """
        raise ArgumentError("this model is read in one format; leave tool_parser and reasoning_parser out")

    def with_metadata(self, metadata: Mapping[str, Any]) -> ServedModel:  # noqa: ARG002
        """Return the model for a request with this metadata."""
        return self

    @property
    def context_length(self) -> int | None:
        """Maximum number of token ids in a prompt and its answer together; None: unknown."""
        return None

    @property
    def is_ready(self) -> bool:
        """Whether the model can answer, for /readiness."""
        return True

    @property
    def facts(self) -> Mapping[str, Any]:
        """What the server's first log line says of the model, such as its device."""
        return {"context length": self.context_length}

    @contextlib.asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Entered on the event loop while a server runs."""
        yield

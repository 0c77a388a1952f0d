"""`AnswerRequest`: everything that one answer depends on, as one value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from unspool._core import ToolSchemas
from unspool.core.records import require_at_least
from unspool.core.stream.parser_options import PARSING_OPTIONS, ParsingOptions
from unspool.core.stream.tool import read_tools
from unspool.core.wrong_call import unknown_option
from unspool.errors import ArgumentError
from unspool.generation.sampling_params import SamplingParams
from unspool.generation.worker import check_timeout
from unspool.writing.grammar.response import Response
from unspool.writing.grammar.response_format import read_response_format
from unspool.writing.grammar_result import Grammar

__all__ = ["AnswerRequest", "read_answer_request"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRequest:
    """A request for an answer: checked when it is made, and read by every kind of model.

    Attributes:
        prompt: Text, chat messages, token ids, or another form that the model accepts (`StreamGenerator.stream`).
        tools: The tools that the model may call, as mappings or compiled; functions and models are converted. None:
            unknown.
        tool_choice: As in `Parser`. "required" and a tool's name are enforced.
        response: The constraint on the content; None: free text.
        grammar: A grammar for the whole answer; None: the grammar that tools and `response` imply, if any.
        sampling: How tokens are chosen, the number of answers, and the stop strings. A mapping of its fields is
            converted; None is `SamplingParams()`.
        parsing: Options of the answer's parser. They override the model's own.
        prefill: The beginning of the answer, as text; True: the last message, which is the assistant's.
        template_kwargs: Variables of the chat template.
        raw: Whether all text is content, without reasoning and calls.
        timeout_s: Seconds without a token until StreamTimeout is raised; None: no limit.
        within_context: Whether prompt and answer must fit into the model's context.
        flush_tokens, flush_ms: As in `StreamGenerator.stream`.
        model_inputs: Tensors for a model in this process, such as `input_ids` and `attention_mask`.
        generate_options: Options of `model.generate`, for a model in this process.

    Raises:
        ArgumentError: A limit is out of its range, a tool cannot be read, or two grammars are given.
        TypeError: `sampling` has another type.
    """

    prompt: Any = None
    tools: Sequence[Mapping[str, Any]] | ToolSchemas | None = None
    tool_choice: str | Mapping[str, Any] | None = "auto"
    response: Response | None = None
    grammar: str | Grammar | None = None
    sampling: SamplingParams = field(default_factory=SamplingParams)
    parsing: ParsingOptions = field(default_factory=ParsingOptions)
    prefill: bool | str = False
    template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    raw: bool = False
    timeout_s: float | None = None
    within_context: bool = False
    flush_tokens: int = 1
    flush_ms: float = 0
    model_inputs: Mapping[str, Any] = field(default_factory=dict)
    generate_options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sampling", SamplingParams.read(self.sampling))
        if self.tools is not None and not isinstance(self.tools, ToolSchemas):
            object.__setattr__(self, "tools", read_tools(self.tools))
        if self.grammar is not None and self.response is not None:
            name = self.response.name
            said = name if name in ("choice", "regex") else "response_format"
            raise ArgumentError(f"{said} and grammar are both given; pass one of them")
        check_timeout(self.timeout_s)
        require_at_least("flush_tokens", self.flush_tokens, 1)
        require_at_least("flush_ms", self.flush_ms, 0)
        unknown = self.parsing.keys() - PARSING_OPTIONS
        if unknown:
            raise unknown_option("AnswerRequest", min(unknown), PARSING_OPTIONS)

    def check_needs_no_torch(self) -> None:
        """Raise ArgumentError for what only a transformers model in this process can do.

        Raises:
            UnknownOptionError: The request has an option of `model.generate`.
        """
        if self.generate_options:
            raise unknown_option("stream", min(self.generate_options), PARSING_OPTIONS)
        if self.model_inputs:
            raise ArgumentError(
                f"{min(self.model_inputs)} is a model input, and this model reads prompts; pass a prompt"
            )
        if self.grammar is not None:
            raise ArgumentError(
                "grammar is for models in this process; pass a response_format with a grammar, which constrains the content"
            )


def read_answer_request(
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
) -> AnswerRequest:
    """Return the request that the arguments of `ServedModel.stream` describe.

    Raises:
        ArgumentError, TypeError: As for `AnswerRequest`.
    """
    asked = SamplingParams.read(sampling)
    inputs = {"input_ids": input_ids, "inputs_embeds": inputs_embeds}
    inputs |= {name: value for name, value in generation_kwargs.items() if _is_model_input(name, value)}
    parsing = {name: value for name, value in generation_kwargs.items() if name in PARSING_OPTIONS}
    return AnswerRequest(
        prompt=prompt,
        tools=cast("Sequence[Any] | ToolSchemas | None", tools),  # `AnswerRequest` reads them
        tool_choice=tool_choice,
        response=read_response_format(response_format, choice, regex),
        grammar=grammar,
        sampling=asked.replace(stop=stop) if stop else asked,
        parsing=cast("ParsingOptions", parsing),  # the only place where a caller's keywords become options
        prefill=prefill,
        template_kwargs=chat_template_kwargs or {},
        raw=raw,
        timeout_s=stream_timeout if timeout is None else timeout,
        within_context=within_context,
        flush_tokens=flush_tokens,
        flush_ms=flush_ms,
        model_inputs={name: value for name, value in inputs.items() if value is not None},
        generate_options={
            name: value
            for name, value in generation_kwargs.items()
            if name not in inputs and name not in parsing
        },
    )


def _is_model_input(name: str, value: Any) -> bool:
    """Whether an option is a tensor for the model; ids of single tokens may be tensors too."""
    return bool(getattr(value, "shape", ())) and not name.endswith("_token_id")

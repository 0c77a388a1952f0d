"""The core of `StreamGenerator`: a checked call becomes a worker and a stream of deltas."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from unspool._core import DeltaChannel, ToolSchemas, Vocabulary
from unspool.choose_format import check_format_names, choose_format
from unspool.errors import ArgumentError, VocabularyError
from unspool.generation.check_options import check_options
from unspool.generation.delta_stream import DeltaStream
from unspool.generation.hooks import ConditioningHook
from unspool.generation.inference_config import (
    InferenceConfig,
    model_positions,
    model_prefill_length,
    resolve_token_ids,
)
from unspool.generation.inference_name import read_inference_name
from unspool.generation.logits import check_native
from unspool.generation.logprobs import LogprobRecorder
from unspool.generation.prefill.config import PrefillConfig
from unspool.generation.prefill.static_inputs import render_messages
from unspool.generation.prefill.strategy import choose_strategy, model_kind
from unspool.generation.prompt import Prompt, check_ids, prompt_end, read_prompt
from unspool.generation.prompt_encoder import PromptEncoder
from unspool.generation.recorded_model import check_recordable
from unspool.generation.rows import Rows
from unspool.generation.run import GenerationRun
from unspool.generation.sampling_params import SamplingParams
from unspool.generation.settings import GenerationSettings, read_settings
from unspool.generation.warm_up import WarmUp
from unspool.generation.worker import GenerationWorker, check_timeout
from unspool.grammar.mask import GrammarMask
from unspool.grammar.matcher import GrammarMatcher
from unspool.grammar.request import request_grammar
from unspool.grammar.result import Grammar
from unspool.grammar.tools import without_strict
from unspool.stream_options import PARSER_OPTIONS
from unspool.token_streamer import TokenStreamer
from unspool.vocabulary_sources import from_tokenizer

if TYPE_CHECKING:
    from typing_extensions import Self

    from unspool._core import Format
    from unspool.format_files import FormatFile
    from unspool.generation.result import StreamResult

__all__ = ["DeltaGenerator"]

# Options of one stream's TokenStreamer that a caller may set.
_PARSER_OPTIONS = PARSER_OPTIONS.keys() - {
    "only_reasoning", "keep_message", "tokenizer", "prompt", "reasoning", "tool_choice", "stop",
}  # fmt: skip


class DeltaGenerator:
    """Prompts in, deltas out; its arguments are those of `StreamGenerator`, which has the rest."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        processor: Any = None,
        *,
        format: str | FormatFile | Format = "auto",
        reasoning: str | bool | None = None,
        config: InferenceConfig | None = None,
        backend: Literal["transformers", "native"] = "transformers",
        prefill: PrefillConfig | int | bool | None = None,
        hook: ConditioningHook | None = None,
        name: str | None = None,
        **parser_options: Any,
    ) -> None:
        try:
            import torch  # noqa: F401
            import transformers  # noqa: F401
        except ImportError as error:
            raise ImportError(f"{error}; pip install 'unspool[transformers]'") from None
        tokenizer = tokenizer if tokenizer is not None else getattr(processor, "tokenizer", None)
        if tokenizer is None:
            raise ArgumentError("there is no tokenizer; pass tokenizer=, or a processor that has one")
        if backend not in ("transformers", "native"):
            raise ArgumentError(f"backend is '{backend}'; use 'transformers' or 'native'")
        if backend == "native" and model_kind(model) == "seq2seq":
            raise ArgumentError("backend='native' is for decoder-only models; use backend='transformers'")
        check_format_names(format, reasoning)
        unknown = set(parser_options) - _PARSER_OPTIONS
        if unknown:
            raise TypeError(f"StreamGenerator takes no {', '.join(sorted(unknown))}")
        self.model = model
        self.tokenizer = tokenizer
        self.processor = processor
        self.backend = backend
        self.hook = hook
        self.prefill = PrefillConfig.read(prefill)
        self.config = _resolve(config, model, tokenizer)
        self._format, self._reasoning = format, reasoning
        self._parser_options = parser_options
        self._encoder = PromptEncoder(model, tokenizer, processor)
        self._warm_up = WarmUp()
        self.inference_name = read_inference_name(name, model)
        with contextlib.suppress(VocabularyError):  # raised by `stream`
            from_tokenizer(tokenizer)  # takes too long for the first stream, which may be on an event loop

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
        grammar: str | Grammar | None = None,
        stop: str | Sequence[str] = (),
        raw: bool = False,
        timeout: float | None = None,
        stream_timeout: float | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        within_context: bool = False,
        **generation_kwargs: Any,
    ) -> DeltaStream:
        """Generate; iterate the deltas as they come, with `for` or `async for`.

        Args:
            prompt: Text; chat messages (put through the chat template, with `tools`); token ids; a mapping
                of model inputs; or an object with `to_dict()` that gives one of these.
            input_ids: Token ids of shape (1, n), instead of `prompt` or beside `inputs_embeds`.
            inputs_embeds: Embeddings of shape (1, n, d).
            sampling: How tokens are chosen; None: as the model's generation config says.
            tools: As of `Parser`. If a function says `strict`, calls are kept to the tools' schemas.
            tool_choice: As of `Parser`. "required" and a tool's name are enforced: after the reasoning the model
                writes such calls and nothing else.
            response_format: The JSON that the answer is, as chat completions have it: `{"type": "json_object"}` or
                `{"type": "json_schema", …}`; or a Pydantic model. With tools an answer is that or calls.
            grammar: What the answer is kept to instead, in Lark as llguidance reads it: the model writes nothing
                else, and the answer ends where the grammar does. `FormatFile.grammar` and `json_grammar` make one.
            stop: Stop strings; the text ends before the first.
            raw: Everything is content: no reasoning, no calls.
            timeout, stream_timeout: Seconds without a token until StreamTimeout is raised.
            chat_template_kwargs: Passed on to `apply_chat_template`, such as `enable_thinking`.
            within_context: Raise ContextLengthError, before the model runs, for a prompt that does not fit
                into `context_length` with the limit of this call, or with one token; and lower a limit that
                is not of this call to what fits. False: the model is run beyond its positions.
            generation_kwargs: Options of `model.generate`, such as `max_new_tokens`; options of `Parser`,
                such as `skip_special_tokens`; and further model inputs, such as `attention_mask`.

        Raises:
            ArgumentError: More than one row, beam search, a limit below 1, an empty prompt, several greedy
                answers, a tokenizer that does not show its format, or what no grammar can enforce; before any
                thread starts.
            ImportError: A grammar is needed, and llguidance is missing.
            TypeError: An option has a name that nothing reads.
        """
        tool_list = list(tools) if tools is not None and not isinstance(tools, ToolSchemas) else tools
        given = {"input_ids": input_ids, "inputs_embeds": inputs_embeds}
        inputs = {name: value for name, value in given.items() if value is not None}
        for name in [name for name, value in generation_kwargs.items() if _is_model_input(name, value)]:
            inputs[name] = generation_kwargs.pop(name)
        read = self._render(read_prompt(prompt, inputs), tool_list, dict(chat_template_kwargs or {}))
        check_ids(self.model, read)
        return self._start(
            lambda: read,
            tool_list,
            tool_choice=tool_choice,
            response_format=response_format,
            grammar=grammar,
            prompt=read,
            sampling=sampling,
            stop=stop,
            raw=raw,
            timeout=stream_timeout if timeout is None else timeout,
            within_context=within_context,
            options=generation_kwargs,
        )

    def with_format(
        self, format: str | FormatFile | Format | None = None, reasoning: str | bool | None = None
    ) -> Self:
        """The same model, read in another way.

        Args:
            format, reasoning: As of `Parser`; None: as this one.
        """
        check_format_names(format, reasoning)
        other = copy.copy(self)
        other._format = self._format if format is None else format
        other._reasoning = self._reasoning if reasoning is None else reasoning
        return other

    def astream(self, prompt: Any = None, **options: Any) -> DeltaStream:
        """`stream`, for `async for`; the event loop is never blocked."""
        return self.stream(prompt, **options)

    def generate(self, prompt: Any = None, **options: Any) -> StreamResult:
        """`stream` to the end; the whole result."""
        with self.stream(prompt, **options) as stream:
            for _ in stream:
                pass
            return stream.result

    @property
    def model_prefill_length(self) -> int:
        """How many token ids a prompt may have, so that `config.max_new_tokens` more fit after it.

        Raises:
            ArgumentError: The model does not say how many positions it has.
        """
        return model_prefill_length(self.model, self.config.max_new_tokens)

    @property
    def context_length(self) -> int | None:
        """How many token ids a prompt and its answer may have together; None if the model does not say.

        None too for encoder and decoder, which have positions of their own each.
        """
        if model_kind(self.model) == "seq2seq":
            return None
        positions = model_positions(self.model)
        return None if positions is None else positions[0]

    def format_name(self, tools: Any = None) -> str:
        """The name of the format that an answer is read in, if these tools are offered."""
        return str(getattr(chosen := self._choose_format(tools)[0], "name", chosen))

    def _start(
        self,
        read: Callable[[], Prompt],
        tools: Any,
        *,
        options: Mapping[str, Any],
        tool_choice: Any = "auto",
        response_format: Any = None,
        grammar: str | Grammar | None = None,
        prompt: Prompt | None = None,
        sampling: Any = None,
        stop: str | Sequence[str] = (),
        raw: bool = False,
        timeout: float | None = None,
        within_context: bool = False,
    ) -> DeltaStream:
        check_timeout(timeout)
        parser_options = {name: value for name, value in options.items() if name in _PARSER_OPTIONS}
        options = {name: value for name, value in options.items() if name not in _PARSER_OPTIONS}
        settings = read_settings(self.model, self.config, sampling, stop, options)
        if self.backend == "native":
            check_native(settings)
        else:
            check_options(self.model, options)
            if settings.logprobs is not None:
                check_recordable(self.model, settings)
        format, reasoning = ("none", None) if raw else self._choose_format(tools)
        vocabulary = from_tokenizer(self.tokenizer)
        stream_options = {**self._parser_options, **parser_options}
        made = request_grammar(
            format,
            reasoning,
            None if raw else tools,
            tool_choice=tool_choice,
            response_format=response_format,
            parallel=stream_options.get("parallel_tool_calls", True),
            read_prompt_end=lambda: None if prompt is None else prompt_end(prompt, vocabulary),
            start_in=stream_options.get("start_in", "auto"),
            vocabulary=vocabulary,
            own=grammar,
        )
        if made is not None and grammar is None:
            # Calls come in the model's own syntax, and without tools no text is a call.
            tool_choice = "none" if tool_choice == "none" or not tools else "auto"
        channel = DeltaChannel()
        streamers = [
            TokenStreamer(
                vocabulary,
                format,
                tools,
                reasoning=reasoning,
                tool_choice=tool_choice,
                stop=settings.stop,
                channel=channel,
                closes_channel=False,
                choice=choice,
                skip_prompt=True,
                **stream_options,
            )
            for choice in range(settings.n)
        ]
        recorder = None if settings.logprobs is None else LogprobRecorder(settings.logprobs, vocabulary)
        rows = Rows(streamers, settings.eos, settings.limit, recorder)
        if made is not None:
            settings = _keep_to(made, settings, rows, vocabulary)
        run = GenerationRun(
            model=self.model,
            backend=self.backend,
            encoder=self._encoder,
            strategy=choose_strategy(
                self.prefill.strategy, self.backend, self.processor is not None, model_kind(self.model)
            ),
            prefill=self.prefill,
            read_prompt=read,
            channel=channel,
            rows=rows,
            settings=settings,
            hook=self.hook,
            positions=self.context_length if within_context else None,
        )
        worker = GenerationWorker(channel, run.work)
        stream = DeltaStream(channel, worker, run, timeout)
        worker.start()
        return stream

    def _render(self, prompt: Prompt, tools: Any, template_kwargs: dict[str, Any]) -> Prompt:
        """Messages of text alone become text; what a processor must read stays as it is."""
        if prompt.messages is None:
            return prompt
        given = without_strict(tools) if not isinstance(tools, ToolSchemas) else None
        options: dict[str, Any] = {"tools": given, "chat_template_kwargs": template_kwargs}
        if self.processor is not None and prompt.has_media:
            return dataclasses.replace(prompt, template_options=options)
        renderer = self.tokenizer if self.processor is None else self.processor
        text, is_template = render_messages(renderer, prompt.messages, fallback=self.tokenizer, **options)
        return Prompt(text=text, inputs=prompt.inputs, adds_special_tokens=not is_template)

    def _choose_format(self, tools: Any) -> tuple[Any, str | bool | None]:
        if self._format == "auto" and not tools and not _has_template(self.tokenizer):
            return "none", None
        return choose_format(self._format, self.tokenizer, self._reasoning)


def _keep_to(
    grammar: str | Grammar, settings: GenerationSettings, rows: Rows, vocabulary: Vocabulary
) -> GenerationSettings:
    """The settings with a mask for the grammar; it goes last, so that no other processor undoes it."""
    if isinstance(grammar, Grammar):
        if grammar.syntax != "lark":
            raise ArgumentError(f"the grammar's syntax is '{grammar.syntax}'; make it with syntax='lark'")
        grammar = grammar.text
    matchers = [GrammarMatcher(vocabulary, grammar, settings.eos) for _ in range(settings.n)]
    mask = GrammarMask(matchers, rows.is_done)
    return dataclasses.replace(
        settings,
        logits_processors=(*settings.logits_processors, mask.process),
        stopping_criteria=(*settings.stopping_criteria, mask.ends),
    )


def _resolve(config: InferenceConfig | None, model: Any, tokenizer: Any) -> InferenceConfig:
    """The config with token ids; without a config of the caller's, a model may do without an end token."""
    try:
        return resolve_token_ids(config or InferenceConfig(), model, tokenizer)
    except ArgumentError:
        if config is not None:
            raise
        return InferenceConfig()


def _has_template(tokenizer: Any) -> bool:
    return any(getattr(tokenizer, name, None) for name in ("chat_template", "response_template"))


def _is_model_input(name: str, value: Any) -> bool:
    return bool(getattr(value, "shape", ())) and not name.endswith("_token_id")

"""`StreamGenerator`: a model with its tokenizer, ready to stream."""

from __future__ import annotations

import contextlib
import copy
import functools
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

from unspool._core import DeltaChannel, ToolSchemas
from unspool.core.needs import needs
from unspool.core.records import require_at_least
from unspool.core.stream.stream_options import PARSER_OPTIONS
from unspool.core.stream.tool import read_tools
from unspool.core.vocabulary.vocabulary_sources import from_tokenizer
from unspool.core.wrong_call import unknown_option
from unspool.errors import ArgumentError, VocabularyError
from unspool.formats.choose_format import check_format_names, choose_format
from unspool.generation.delta_stream import DeltaStream
from unspool.generation.hooks import ConditioningHook
from unspool.generation.logits import check_native
from unspool.generation.logprobs import LogprobRecorder, check_one_id_a_step, check_recordable
from unspool.generation.prefill.context_limit import model_positions
from unspool.generation.prefill.strategy import PrefillConfig, choose_strategy, model_kind
from unspool.generation.prompts.pieces.encode import encode_whole
from unspool.generation.prompts.prompt import prompt_end
from unspool.generation.prompts.prompt_encoder import PromptEncoder
from unspool.generation.reasoning_budget import ReasoningBudget, closer_of
from unspool.generation.rows import Rows
from unspool.generation.run import GenerationRun
from unspool.generation.sampling_params import GenerationDefaults, SamplingParams, resolve_token_ids
from unspool.generation.settings import GenerationSettings, check_options, read_settings
from unspool.generation.telemetry import Traced, model_name, operation_of
from unspool.generation.worker import GenerationWorker, check_timeout
from unspool.streams.recording.recorded_answer import ParserSetup
from unspool.streams.token_streamer import TokenStreamer
from unspool.writing.engines.mask import GrammarMask
from unspool.writing.engines.matcher import GrammarMatcher
from unspool.writing.grammar.request_grammar import check_beside_grammar, choice_beside, request_grammar
from unspool.writing.grammar_result import Grammar

if TYPE_CHECKING:
    from typing_extensions import Self

    from unspool._core import Format
    from unspool.formats.format_file import FormatFile
    from unspool.generation.backends.batched_backend import ModelBatch
    from unspool.generation.stream_result import StreamResult

__all__ = ["StreamGenerator"]

# Maximum default size of the cache of a batch, in tokens of prompts and answers.
_CACHE_TOKENS = 32_768

# Options of a stream's TokenStreamer that a caller may set.
_PARSER_OPTIONS = PARSER_OPTIONS.keys() - {
    "only_reasoning", "keep_message", "tokenizer", "prompt", "reasoning", "tool_choice", "stop",
}  # fmt: skip


class StreamGenerator:
    """Streams the output of a model. Each request runs in its own worker thread.

    Args:
        model: A transformers model, or an object with its `generate`; for `backend="native"` with its `forward`.
        tokenizer: The model's tokenizer; None: the processor's.
        processor: The processor of a model with images or audio.
        format: The format of the output, as in `Parser`. "auto": the result of `detect`; plain text for a
            tokenizer without a chat template.
        reasoning: As in `Parser`.
        config: Limits and special tokens; its token ids default to the model's, then the tokenizer's.
        backend: "transformers" runs `model.generate`; "native" runs unspool's own loop, one forward for each token;
            "batched" shares the model's steps between requests, and caches their prompts.
        cache_tokens: For "batched": the size of its cache in tokens of prompts and answers, which is also the limit of
            one request. None: four full contexts, at most 32,768.
        prefill: How the prompt is run: a `PrefillConfig`, the number of tokens in a chunk, or False for one forward.
        hook: Prepares the model for each request. Nothing else runs on the model meanwhile.
        renderer: Renders messages to the prompt's text, with `apply_chat_template`; None: the processor or the
            tokenizer. A `SandboxedTemplate` renders a template that you do not trust.
        parser_options: Further options of `Parser` for every stream, such as `repair=True`.

    Raises:
        UnknownFormatError: No format has this name.
        ArgumentError: There is no tokenizer, the backend is unknown, or `config` is given and no end token is known.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        processor: Any = None,
        *,
        format: str | FormatFile | Format = "auto",
        reasoning: str | bool | None = None,
        config: GenerationDefaults | None = None,
        backend: Literal["transformers", "native", "batched"] = "transformers",
        cache_tokens: int | None = None,
        prefill: PrefillConfig | int | bool | None = None,
        hook: ConditioningHook | None = None,
        renderer: Any = None,
        **parser_options: Any,
    ) -> None:
        with needs("transformers"):
            import torch  # noqa: F401
            import transformers  # noqa: F401
        tokenizer = tokenizer if tokenizer is not None else getattr(processor, "tokenizer", None)
        if tokenizer is None:
            raise ArgumentError("there is no tokenizer; pass tokenizer=, or a processor that has one")
        if backend not in ("transformers", "native", "batched"):
            raise ArgumentError(f"backend is '{backend}'; use 'transformers', 'native' or 'batched'")
        if backend != "transformers" and model_kind(model) == "seq2seq":
            raise ArgumentError(f"backend='{backend}' is for decoder-only models; use backend='transformers'")
        check_format_names(format, reasoning)
        unknown = set(parser_options) - _PARSER_OPTIONS
        if unknown:
            raise unknown_option("StreamGenerator", min(unknown), _PARSER_OPTIONS)
        self.model, self.tokenizer, self.processor = model, tokenizer, processor
        self.format, self.reasoning, self.parser_options = format, reasoning, parser_options
        self.backend, self.hook, self.prefill = backend, hook, PrefillConfig.read(prefill)
        self.config = _resolve(config, model, tokenizer)
        self._encoder = PromptEncoder(model, tokenizer, processor, renderer)
        self._batch = self._make_batch(cache_tokens)
        with contextlib.suppress(VocabularyError):  # `stream` raises it
            from_tokenizer(tokenizer)  # too slow for the first stream, which may be on an event loop

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
        return self.prepare_stream(**_flat(locals()))()

    def prepare_stream(self, prompt: Any = None, **options: Any) -> Callable[[], DeltaStream]:
        """Check a request now and start it later, with the arguments and errors of `stream`.

        Returns:
            A function to call once: it starts the model and returns the stream.
        """
        given, options = _split(options)
        tools: Any = given.tools
        if tools is not None and not isinstance(tools, ToolSchemas):
            tools = read_tools(tools)
        inputs = {"input_ids": given.input_ids, "inputs_embeds": given.inputs_embeds}
        inputs |= {name: options.pop(name) for name in list(options) if _is_model_input(name, options[name])}
        inputs = {name: value for name, value in inputs.items() if value is not None}
        read = functools.partial(
            self._encoder.read, prompt, tools, given.chat_template_kwargs, inputs, given.prefill
        )
        known = None if callable(prompt) else read()
        timeout = given.stream_timeout if given.timeout is None else given.timeout
        check_timeout(timeout)
        require_at_least("flush_tokens", given.flush_tokens, 1)
        require_at_least("flush_ms", given.flush_ms, 0)
        stream_options = dict(self.parser_options)
        stream_options |= {name: options.pop(name) for name in _PARSER_OPTIONS & options.keys()}
        settings = self.check_options(sampling=given.sampling, stop=given.stop, **options)
        sampling = settings.sampling
        format, reasoning = ("none", None) if given.raw else self._choose_format(tools)
        vocabulary = from_tokenizer(self.tokenizer)
        tool_choice = given.tool_choice
        grammar = request_grammar(
            format,
            reasoning,
            None if given.raw else tools,
            tool_choice=tool_choice,
            response_format=given.response_format,
            choice=given.choice,
            regex=given.regex,
            parallel=stream_options.get("parallel_tool_calls", True),
            read_prompt_end=lambda: None if known is None else prompt_end(known, vocabulary),
            start_in=stream_options.get("start_in", "auto"),
            vocabulary=vocabulary,
            own=given.grammar,
        )
        if grammar is not None:
            check_beside_grammar(bool(given.prefill), bool(sampling.ignore_eos))
        if given.grammar is None:
            tool_choice = choice_beside(grammar, tool_choice, tools)
        channel = DeltaChannel()
        for name in ("include_stop", "skip_special_tokens"):
            if (value := getattr(sampling, name)) is not None:
                stream_options[name] = value
        stream_options |= {"tool_choice": tool_choice, "stop": tuple(sampling.stop), "reasoning": reasoning}
        stream_options |= {"channel": channel, "closes_channel": False, "skip_prompt": True}
        streamers = [
            TokenStreamer(vocabulary, format, tools, choice=choice, **stream_options)
            for choice in range(settings.n)
        ]
        recorder = None if sampling.logprobs is None else LogprobRecorder(sampling.logprobs, vocabulary)
        budget = sampling.max_reasoning_tokens
        closer = None if budget is None or given.raw else closer_of(format, reasoning, vocabulary)
        # A streamer that has not read all ids would not know where the reasoning ends.
        flush_tokens = 1 if sampling.stop or closer else given.flush_tokens
        rows = Rows(streamers, settings.eos, settings.limit, recorder, flush_tokens, given.flush_ms)
        matcher = None
        if grammar is not None:
            if not _masks_drafts():
                check_one_id_a_step("a grammar, or use transformers 5", settings.option)
            matcher = GrammarMatcher(grammar, vocabulary, end_ids=[id for id in settings.eos if id >= 0])
        closer_ids: list[int] = []
        if closer is not None:
            check_one_id_a_step("max_reasoning_tokens", settings.option)
            closer_ids = encode_whole(self.tokenizer, closer, add_special_tokens=False)

        def constrain(rows: Rows, settings: GenerationSettings) -> GenerationSettings:
            if matcher is not None:
                mask = GrammarMask([matcher.fork() for _ in rows.parsers], rows.is_done, rows.cut_row)
                settings = settings.with_mask(mask.process, mask.ends, mask.forced)
            if budget is not None and closer is not None:
                settings = settings.with_processor(ReasoningBudget(budget, closer_ids, rows.parsers))
            return settings

        has_processor, kind = self.processor is not None, model_kind(self.model)
        run = GenerationRun(
            model=self.model,
            backend=self.backend,
            encoder=self._encoder,
            strategy=choose_strategy(self.prefill.strategy, self.backend, has_processor, kind),
            prefill=self.prefill,
            read_prompt=read if known is None else lambda: known,
            channel=channel,
            answers=rows,
            settings=settings,
            constrain=constrain,
            batch=self._batch,
            hook=self.hook,
            setups=[ParserSetup(format, tools, stream_options, vocabulary)] * settings.n,
            traced=Traced(
                operation=operation_of(prompt, given.raw),
                model=model_name(self.model),
                provider="transformers",
                sampling=settings.sampling,
            ),
            # A request that exceeds the cache of a batch would stop the other requests.
            positions=self.context_length if given.within_context or self._batch is not None else None,
        )
        return functools.partial(_start, run, timeout)

    def check_options(
        self,
        *,
        sampling: SamplingParams | Mapping[str, Any] | None = None,
        stop: str | Sequence[str] = (),
        **options: Any,
    ) -> GenerationSettings:
        """Check options of `stream` without a prompt, and return a request's settings.

        Raises:
            ArgumentError: As in `stream`.
            TypeError: `sampling` is neither SamplingParams nor a mapping.
        """
        settings = self._with_token_ids(read_settings(self.model, self.config, sampling, stop, options))
        if self.backend != "transformers":
            check_native(settings, self.backend)
            return settings
        check_options(self.model, options)
        if settings.sampling.logprobs is not None:
            check_recordable(self.model, settings.option)
        return settings

    def _with_token_ids(self, settings: GenerationSettings) -> GenerationSettings:
        """Return the settings with the ids of bad words; checks that the vocabulary has all ids that they name."""
        sampling = settings.sampling
        for name in ("allowed_token_ids", "logit_bias"):
            ids = getattr(sampling, name)
            if ids and max(ids) >= (count := len(from_tokenizer(self.tokenizer))):
                raise ArgumentError(f"{name} has {max(ids)}; the ids of the vocabulary are below {count}")
        if not sampling.bad_words:
            return settings
        # Each text at the beginning of a word, and within one.
        texts = [text for word in sampling.bad_words for text in (word.lstrip(), " " + word.lstrip())]
        words = {tuple(encode_whole(self.tokenizer, text, add_special_tokens=False)) for text in texts}
        given = settings.option("bad_words_ids") or []
        return settings.with_options(bad_words_ids=[*given, *map(list, sorted(words))])

    def with_format(
        self, format: str | FormatFile | Format | None = None, reasoning: str | bool | None = None
    ) -> Self:
        """Return the same model with another format.

        Args:
            format, reasoning: As in `Parser`; None: unchanged.
        """
        check_format_names(format, reasoning)
        other = copy.copy(self)
        other.format = self.format if format is None else format
        other.reasoning = self.reasoning if reasoning is None else reasoning
        return other

    def astream(self, prompt: Any = None, **options: Any) -> DeltaStream:
        """Begin an answer as `stream` does, for `async for`; never blocks the event loop."""
        return self.stream(prompt, **options)

    def generate(self, prompt: Any = None, **options: Any) -> StreamResult:
        """Run `stream` to the end and return its result."""
        with self.stream(prompt, **options) as stream:
            for _ in stream:
                pass
            return stream.result

    @property
    def context_length(self) -> int | None:
        """Maximum number of token ids in a prompt and its answer together; None if the config does not have it.

        Also None for a model with an encoder and a decoder, which have separate positions.
        """
        if model_kind(self.model) == "seq2seq":
            return None
        positions = model_positions(self.model)
        limits = [] if positions is None else [positions[0]]
        return min([*limits, self._batch.capacity] if self._batch is not None else limits, default=None)

    def format_name(self, tools: Any = None) -> str:
        """The name of the format in which an answer with these tools is parsed."""
        return str(getattr(chosen := self._choose_format(tools)[0], "name", chosen))

    def stream_prompt(
        self, prompt: Any, max_new_tokens: int = 1000, **options: Any
    ) -> Generator[str, None, StreamResult]:
        """Yield the text of `stream`, without empty strings; puts the model into evaluation mode."""
        start = self.prepare_stream(prompt, max_new_tokens=max_new_tokens, **options)
        if getattr(self.model, "training", False):
            self.model.eval()
        return start().text()

    def count_tokens(
        self,
        prompt: Any,
        *,
        tools: Sequence[Any] | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        prefill: bool | str = False,
    ) -> int:
        """Count the token ids of a prompt, as in `usage.prompt_tokens` of its answer.

        Args:
            prompt: As in `stream`: text, to which the tokenizer adds special tokens; messages, which the chat
                template renders up to the beginning of the answer; or token ids.
            tools, chat_template_kwargs, prefill: As in `stream`; they change what the chat template writes.

        Raises:
            ArgumentError: The prompt is empty or has an invalid type.
        """
        read = self._encoder.read(prompt, tools, chat_template_kwargs, prefill=prefill)
        embeds = read.inputs.get("inputs_embeds")
        return len(self._encoder.ids(read)) if embeds is None else int(embeds.shape[1])

    def tokenize(
        self,
        prompt: Any,
        *,
        tools: Sequence[Any] | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        prefill: bool | str = False,
    ) -> list[int]:
        """Return the token ids of a prompt; arguments and errors are those of `count_tokens`."""
        return self._encoder.ids(self._encoder.read(prompt, tools, chat_template_kwargs, prefill=prefill))

    def _make_batch(self, cache_tokens: int | None) -> ModelBatch | None:
        if self.backend != "batched":
            if cache_tokens is not None:
                raise ArgumentError(
                    f"backend='{self.backend}' has no cache of requests; leave cache_tokens out"
                )
            return None
        if self.hook is not None:
            raise ArgumentError("a hook prepares the model for one request; use backend='native'")
        from unspool.generation.backends.batched_backend import ModelBatch

        positions = model_positions(self.model)
        if cache_tokens is None:
            cache_tokens = _CACHE_TOKENS if positions is None else min(4 * positions[0], _CACHE_TOKENS)
        require_at_least("cache_tokens", cache_tokens, 1)
        step_tokens = cache_tokens if self.prefill.strategy == "off" else self.prefill.chunk_tokens
        return ModelBatch(self.model, cache_tokens, step_tokens)

    def _choose_format(self, tools: Any) -> tuple[Any, str | bool | None]:
        if self.format == "auto" and not tools and not _has_template(self.tokenizer):
            return "none", None
        return choose_format(self.format, self.tokenizer, self.reasoning)


def _start(run: GenerationRun, timeout: float | None) -> DeltaStream:
    run.begin_s = time.perf_counter()
    return DeltaStream.start(run, GenerationWorker(run.channel, run.work), timeout)


def _resolve(config: GenerationDefaults | None, model: Any, tokenizer: Any) -> GenerationDefaults:
    """Return the config with token ids. An unknown end token is an error only with a caller's config."""
    try:
        return resolve_token_ids(config or GenerationDefaults(), model, tokenizer)
    except ArgumentError:
        if config is not None:
            raise
        return GenerationDefaults()


def _has_template(tokenizer: Any) -> bool:
    return any(getattr(tokenizer, name, None) for name in ("chat_template", "response_template"))


def _masks_drafts() -> bool:
    """Whether this transformers' `generate` applies processors to the scores of drafts."""
    import transformers

    return int(transformers.__version__.split(".", 1)[0]) >= 5


def _flat(given: dict[str, Any]) -> dict[str, Any]:
    """Turn the `locals()` of `stream` into arguments of `prepare_stream`."""
    options: dict[str, Any] = given.pop("generation_kwargs")
    del given["self"]
    return given | options


def _split(options: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Separate the parameters of `stream`, with its defaults, from the other options."""
    defaults = StreamGenerator.stream.__kwdefaults__ or {}
    given = SimpleNamespace(**{name: options.get(name, value) for name, value in defaults.items()})
    return given, {name: value for name, value in options.items() if name not in defaults}


def _is_model_input(name: str, value: Any) -> bool:
    return bool(getattr(value, "shape", ())) and not name.endswith("_token_id")

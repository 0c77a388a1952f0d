"""`StreamGenerator`: a model with its tokenizer, ready to stream."""

from __future__ import annotations

import contextlib
import copy
import functools
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from unspool.core.needs import needs
from unspool.core.records import require_at_least
from unspool.core.stream.parser_options import PARSING_OPTIONS, ParsingOptions
from unspool.core.vocabulary.vocabulary_sources import from_tokenizer
from unspool.core.wrong_call import unknown_option
from unspool.errors import ArgumentError, VocabularyError
from unspool.formats.choose_format import check_format_names, choose_format
from unspool.generation.answer_request import AnswerRequest, read_answer_request
from unspool.generation.delta_stream import DeltaStream
from unspool.generation.hooks import ConditioningHook
from unspool.generation.logits import check_native
from unspool.generation.logprobs import LogprobRecorder, check_one_id_a_step, check_recordable
from unspool.generation.prefill.context_limit import model_positions
from unspool.generation.prefill.strategy import PrefillConfig, choose_strategy, model_kind
from unspool.generation.prepare_answer import Reading, prepare_answer
from unspool.generation.prompts.pieces.encode import encode_whole
from unspool.generation.prompts.prompt import prompt_end
from unspool.generation.prompts.prompt_encoder import PromptEncoder
from unspool.generation.reasoning_budget import ReasoningBudget, closer_of
from unspool.generation.rows import Rows
from unspool.generation.run import GenerationRun
from unspool.generation.sampling_params import GenerationDefaults, resolve_token_ids
from unspool.generation.served_model import ServedModel
from unspool.generation.settings import GenerationSettings, check_options, read_settings
from unspool.generation.telemetry import Traced, model_name, operation_of
from unspool.generation.worker import GenerationWorker
from unspool.writing.engines.mask import GrammarMask
from unspool.writing.engines.matcher import GrammarMatcher

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from unspool._core import Format
    from unspool.formats.format_file import FormatFile
    from unspool.generation.backends.batched_backend import ModelBatch
    from unspool.generation.stream_result import StreamResult

__all__ = ["StreamGenerator"]

# Maximum default size of the cache of a batch, in tokens of prompts and answers.
_CACHE_TOKENS = 32_768


class StreamGenerator(ServedModel):
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
        **parser_options: Unpack[ParsingOptions],
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
        unknown = parser_options.keys() - PARSING_OPTIONS
        if unknown:
            raise unknown_option("StreamGenerator", min(unknown), PARSING_OPTIONS)
        self.model, self.tokenizer, self.processor = model, tokenizer, processor
        self.format, self.reasoning, self.parser_options = format, reasoning, parser_options
        self.backend, self.hook, self.prefill = backend, hook, PrefillConfig.read(prefill)
        self.inference_name = model_name(model)
        self.config = _resolve(config, model, tokenizer)
        self._encoder = PromptEncoder(model, tokenizer, processor, renderer)
        self._batch = self._make_batch(cache_tokens)
        with contextlib.suppress(VocabularyError):  # `stream` raises it
            from_tokenizer(tokenizer)  # too slow for the first stream, which may be on an event loop

    def begin(self, request: AnswerRequest) -> DeltaStream:
        """Begin an answer, with the errors of `stream`."""
        return self.prepare(request)()

    def prepare_stream(self, prompt: Any = None, **options: Any) -> Callable[[], DeltaStream]:
        """Check a request now and start it later, with the arguments and errors of `stream`.

        Returns:
            A function to call once: it starts the model and returns the stream.
        """
        return self.prepare(read_answer_request(prompt, **options))

    def prepare(self, request: AnswerRequest) -> Callable[[], DeltaStream]:
        """Check a request now and start it later, as `prepare_stream` does."""
        read = functools.partial(
            self._encoder.read,
            request.prompt,
            request.tools,
            request.template_kwargs,
            request.model_inputs,
            request.prefill,
        )
        known = None if callable(request.prompt) else read()
        settings = self._read_settings(request)
        sampling = settings.sampling
        format, reasoning = ("none", None) if request.raw else self._choose_format(request.tools)
        vocabulary = from_tokenizer(self.tokenizer)
        answer = prepare_answer(
            request,
            Reading(format=format, reasoning=reasoning, vocabulary=vocabulary, options=self.parser_options),
            sampling,
            lambda: None if known is None else prompt_end(known, vocabulary),
            puts_prompt=True,
        )
        recorder = None if sampling.logprobs is None else LogprobRecorder(sampling.logprobs, vocabulary)
        budget = sampling.max_reasoning_tokens
        closer = None if budget is None or request.raw else closer_of(format, reasoning, vocabulary)
        # A streamer that has not read all ids would not know where the reasoning ends.
        flush_tokens = 1 if sampling.stop or closer else request.flush_tokens
        rows = Rows(answer.parsers, settings.eos, settings.limit, recorder, flush_tokens, request.flush_ms)
        matcher = None
        if answer.grammar is not None:
            if not _masks_drafts():
                check_one_id_a_step("a grammar, or use transformers 5", settings.option)
            matcher = GrammarMatcher(
                answer.grammar, vocabulary, end_ids=[id for id in settings.eos if id >= 0]
            )
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
            channel=answer.channel,
            answers=rows,
            settings=settings,
            constrain=constrain,
            batch=self._batch,
            hook=self.hook,
            setups=answer.setups,
            traced=Traced(
                operation=operation_of(request.prompt, request.raw),
                model=model_name(self.model),
                provider="transformers",
                sampling=sampling,
            ),
            # A request that exceeds the cache of a batch would stop the other requests.
            positions=self.context_length if request.within_context or self._batch is not None else None,
        )
        return functools.partial(_start, run, request.timeout_s)

    def check_options(self, **options: Any) -> GenerationSettings:
        """Check options of `stream` without a prompt, and return a request's settings.

        Raises:
            ArgumentError: As in `stream`.
            TypeError: `sampling` is neither SamplingParams nor a mapping.
        """
        return self._read_settings(read_answer_request(**options))

    def _read_settings(self, request: AnswerRequest) -> GenerationSettings:
        options = request.generate_options
        settings = self._with_token_ids(read_settings(self.model, self.config, request.sampling, options))
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
        named = {"allowed_token_ids": sampling.allowed_token_ids, "logit_bias": sampling.logit_bias}
        for name, ids in named.items():
            if ids and max(ids) >= (count := len(from_tokenizer(self.tokenizer))):
                raise ArgumentError(f"{name} has {max(ids)}; the ids of the vocabulary are below {count}")
        if not sampling.bad_words:
            return settings
        # Each text at the beginning of a word, and within one.
        texts = [text for word in sampling.bad_words for text in (word.lstrip(), " " + word.lstrip())]
        words = {tuple(encode_whole(self.tokenizer, text, add_special_tokens=False)) for text in texts}
        bad_words_ids = settings.option("bad_words_ids") or []
        return settings.with_options(bad_words_ids=[*bad_words_ids, *map(list, sorted(words))])

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
        chosen = self._choose_format(tools)[0]
        return chosen if isinstance(chosen, str) else chosen.name

    @property
    def facts(self) -> Mapping[str, Any]:
        """What the server's first log line says of the model."""
        dtype = str(getattr(self.model, "dtype", None) or "").removeprefix("torch.")
        return {"device": getattr(self.model, "device", None), "dtype": dtype, **super().facts}

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
        """Count the token ids of a prompt, as in `usage.prompt_tokens` of its answer."""
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
        """Return the token ids of a prompt."""
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

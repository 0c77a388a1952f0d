"""Makes a model for the server from an engine's address."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

from unspool.core.format.other_families import Also
from unspool.errors import ArgumentError, EngineError, UnspoolError
from unspool.generation.prompts.chat_tokenizer import ChatTokenizer
from unspool.generation.prompts.tokenizer_files import TokenizerFiles, read_tokenizer
from unspool.serve.engines.completions_engine import Completions
from unspool.serve.engines.engine import Engine
from unspool.serve.engines.engine_model import EngineModel
from unspool.serve.engines.http import EngineHttp
from unspool.serve.engines.http_engine import HttpEngine
from unspool.serve.engines.llama_cpp import LlamaCpp
from unspool.serve.engines.replicas import Replicas
from unspool.serve.engines.sglang import SgLang
from unspool.serve.engines.vllm import VLlm
from unspool.serve.models.check_reading import check_reading
from unspool.serve.models.engine_kind import EngineKind

__all__ = ["Kind", "connect"]

Kind = EngineKind

#: How an engine of each kind is made, and the paths by which it is detected: only this kind answers one of them with a
#: JSON object that has the field. The paths are asked from the top down; a kind without a path is the last resort.
_KINDS: Mapping[Kind, tuple[Callable[[EngineHttp, str | None], HttpEngine], Mapping[str, str]]] = {
    "llamacpp": (lambda http, _: LlamaCpp(http), {"/props": "default_generation_settings"}),
    "sglang": (lambda http, _: SgLang(http), {"/get_model_info": "model_path", "/model_info": "model_path"}),
    "vllm": (VLlm, {"/version": "version"}),
    "completions": (Completions, {}),
}

_log = logging.getLogger("unspool.serve")

# Seconds until an engine that is still loading is asked again.
_PAUSE_S = 1.0
# Text that is encoded by the tokenizer here and by the engine, to compare the ids.
_PROBE = "Hello, 12 wörlds"


def connect(
    urls: str | Sequence[str],
    *,
    kind: Kind | None = None,
    tokenizer: str | None = None,
    model: str | None = None,
    api_key: str | None = None,
    format: str = "auto",
    reasoning: str | bool | None = None,
    also: Also = (),
    chat_template: str | None = None,
    max_new_tokens: int = 1024,
    trust_template: bool = False,
    template_timeout_s: float = 30.0,
    wait_s: float | None = None,
) -> EngineModel:
    """Ask an engine which model it serves, and load the model's tokenizer.

    Waits until the engine answers, or one of several engines.

    Args:
        urls: The engine's address, or the addresses of several engines with the same model.
        kind: The kind of engine; None: detected.
        tokenizer: As in `ChatTokenizer.from_pretrained`; None: the one that the engine names. If it names none,
            answers are read as text, with the engine's chat template.
        model: The model's name on an engine that serves several.
        api_key: The engine's API key.
        format, reasoning, also, max_new_tokens: As in `EngineModel`.
        chat_template: A file with a chat template, instead of the model's own.
        trust_template, template_timeout_s: As in `ChatTokenizer`.
        wait_s: Maximum seconds to wait for the engine; None: no limit.

    Raises:
        ArgumentError: A URL or the kind is invalid, or no tokenizer is given and the engine names none.
        EngineError: The engine rejects the request, or does not answer within `wait_s`.
        UnspoolError: The tokenizer or the format cannot be read.
    """
    if kind not in (None, *get_args(Kind)):
        raise ArgumentError(f"kind is '{kind}'; use one of {', '.join(get_args(Kind))}")
    addresses = [EngineHttp(url, api_key) for url in ([urls] if isinstance(urls, str) else urls)]
    if not addresses:
        raise ArgumentError("there is no engine; pass its URL")
    end_s = None if wait_s is None else time.monotonic() + wait_s
    first = _first_that_answers(addresses, lambda http: _engine_at(http, kind, model), end_s)
    engines = [first.at(http) for http in addresses]
    template = None if chat_template is None else Path(chat_template).read_text(encoding="utf-8")
    files = _read_files(first, tokenizer, template)
    read = ChatTokenizer(
        files, trust_template=trust_template or template is not None, template_timeout_s=template_timeout_s
    )
    _compare(first, read)
    check_reading(read, format, reasoning)
    with contextlib.suppress(Exception):  # there may be no template, or it rejects this message
        # Start the template's process now, so that the first client does not wait for it.
        read.apply_chat_template([{"role": "user", "content": _PROBE}], add_generation_prompt=True)
    return EngineModel(
        Replicas(engines), read, format=format, reasoning=reasoning, also=also, max_new_tokens=max_new_tokens
    )


def _first_that_answers(
    addresses: Sequence[EngineHttp], ask: Callable[[EngineHttp], HttpEngine], end_s: float | None
) -> HttpEngine:
    """Return the result of `ask` for the first engine that has loaded its model."""
    is_first = True
    while True:
        problem: EngineError | None = None
        for http in addresses:
            try:
                return ask(http)
            except EngineError as error:
                problem = problem or error
                if not error.is_retryable:
                    raise
        assert problem is not None
        if end_s is not None and time.monotonic() >= end_s:
            raise problem
        if is_first:
            _log.info("waiting: %s", problem)
        is_first = False
        time.sleep(_PAUSE_S)


def _engine_at(http: EngineHttp, kind: Kind | None, model: str | None) -> HttpEngine:
    make, _ = _KINDS[kind or _kind_of(http)]
    return make(http, model)


def _kind_of(http: EngineHttp) -> Kind:
    """Detect the kind of engine by the paths that it answers."""
    for kind, (_, fields) in _KINDS.items():
        for path, field in fields.items():
            try:
                answer = http.ask(path)
            except EngineError as error:
                if error.is_retryable:
                    raise
                continue
            if isinstance(answer, dict) and field in answer:
                return kind
    return kind


def _read_files(engine: Engine, named: str | None, template: str | None) -> TokenizerFiles:
    """Read the tokenizer of this name, or the one that the engine names; use the engine's template if it has none."""
    place = named or engine.tokenizer_name
    files = TokenizerFiles("", None)
    if place is not None:
        try:
            files = read_tokenizer(place)
        except (UnspoolError, OSError) as error:
            if named is not None:
                raise
            _log.warning("the engine's model is '%s', whose tokenizer cannot be read here: %s", place, error)
    if files.vocabulary is None and (template or engine.chat_template) is None:
        raise ArgumentError(
            f"{engine} shows no tokenizer and no chat template; name the model's folder with --tokenizer"
        )
    if template is not None:
        return replace(files, chat_template=template)
    if files.chat_template is None and engine.chat_template is not None:
        tokens = {**engine.special_tokens, **files.special_tokens}
        return replace(files, chat_template=engine.chat_template, special_tokens=tokens)
    return files


def _compare(engine: Engine, tokenizer: ChatTokenizer) -> None:
    """Warn if the engine encodes a text to other ids than the tokenizer here."""
    ours = tokenizer.encode(_PROBE, add_special_tokens=False)
    theirs = None
    if ours is not None:
        with contextlib.suppress(EngineError):  # it may not offer tokenization
            theirs = engine.tokenize(_PROBE, False)
    if theirs is not None and ours != theirs:
        _log.warning(
            "'%s' is not the tokenizer of %s: '%s' has the ids %s here and %s there",
            tokenizer.name_or_path, engine, _PROBE, ours, theirs,
        )  # fmt: skip

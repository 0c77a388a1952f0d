"""From an engine's address to a model that the server can serve."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args

from unspool.core.format.other_families import Also
from unspool.errors import ArgumentError, EngineError, UnspoolError
from unspool.generation.prompts.chat_tokenizer import ChatTokenizer
from unspool.generation.prompts.tokenizer_files import TokenizerFiles, read_tokenizer
from unspool.serve.check_reading import check_reading
from unspool.serve.engines.completions import Completions
from unspool.serve.engines.engine import Engine
from unspool.serve.engines.engine_model import EngineModel
from unspool.serve.engines.http import EngineHttp
from unspool.serve.engines.http_engine import HttpEngine
from unspool.serve.engines.llama_cpp import LlamaCpp
from unspool.serve.engines.replicas import Replicas
from unspool.serve.engines.sglang import SgLang
from unspool.serve.engines.vllm import VLlm

__all__ = ["Kind", "connect"]

Kind = Literal["vllm", "sglang", "llamacpp", "completions"]

_log = logging.getLogger("unspool.serve")

# Until an engine that loads is asked again.
_PAUSE_S = 1.0
# Is read by the tokenizer here and by the engine's own.
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
    """Ask an engine what it serves, and read the model's tokenizer.

    Waits until the engine answers; of several, until one does.

    Args:
        urls: The engine's address, or those of several with the same model.
        kind: What it is; None: as it says.
        tokenizer: As of `ChatTokenizer.from_pretrained`; None: what the engine names, or in text.
        model: The model's name there, for an engine that serves several.
        api_key: The engine's.
        format, reasoning, also, max_new_tokens: As of `EngineModel`.
        chat_template: A file with a chat template, instead of the model's own.
        trust_template, template_timeout_s: As of `ChatTokenizer`.
        wait_s: The longest wait for the engine; None: no limit.

    Raises:
        ArgumentError: A URL or the kind is none, or there is no tokenizer and the engine names none.
        EngineError: The engine refuses, or `wait_s` is over.
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
    with contextlib.suppress(Exception):  # there may be no template, or it refuses this
        # The process of a template starts now, and not for the first client.
        read.apply_chat_template([{"role": "user", "content": _PROBE}], add_generation_prompt=True)
    return EngineModel(
        Replicas(engines), read, format=format, reasoning=reasoning, also=also, max_new_tokens=max_new_tokens
    )


def _first_that_answers(
    addresses: Sequence[EngineHttp], ask: Callable[[EngineHttp], HttpEngine], end_s: float | None
) -> HttpEngine:
    """What `ask` returns for the first engine that has loaded."""
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
    kind = kind or _kind_of(http)
    if kind == "llamacpp":
        return LlamaCpp(http)
    if kind == "sglang":
        return SgLang(http)
    return (VLlm if kind == "vllm" else Completions)(http, model)


def _kind_of(http: EngineHttp) -> Kind:
    """What answers there. llama.cpp has properties, SGLang its model's, and vLLM a version."""
    for path, name, kind in (
        ("/props", "default_generation_settings", "llamacpp"),
        ("/get_model_info", "model_path", "sglang"),
        ("/model_info", "model_path", "sglang"),
        ("/version", "version", "vllm"),
    ):
        try:
            found = http.ask(path)
        except EngineError as error:
            if error.is_retryable:
                raise
            continue
        if isinstance(found, dict) and name in found:
            return kind  # type: ignore[return-value]
    return "completions"


def _read_files(engine: Engine, named: str | None, template: str | None) -> TokenizerFiles:
    """The tokenizer of this name, or the one that the engine names; a template of the engine's if it has none."""
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
    """Warn if the engine reads a text in other ids than the tokenizer here."""
    ours = tokenizer.encode(_PROBE, add_special_tokens=False)
    theirs = None
    if ours is not None:
        with contextlib.suppress(EngineError):  # it may not tokenize for others
            theirs = engine.tokenize(_PROBE, False)
    if theirs is not None and ours != theirs:
        _log.warning(
            "'%s' is not the tokenizer of %s: '%s' has the ids %s here and %s there",
            tokenizer.name_or_path, engine, _PROBE, ours, theirs,
        )  # fmt: skip

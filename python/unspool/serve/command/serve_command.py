"""`unspool serve`: starts a server from the command line's options."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from unspool.core.format.other_families import compile_others
from unspool.core.repository import check_repository, is_path
from unspool.errors import ArgumentError
from unspool.formats.choose_format import check_format_names
from unspool.serve.api_server import ApiServer
from unspool.serve.models.load_checkpoint import load_checkpoint
from unspool.serve.setting_table import read_settings
from unspool.serve.settings import ListenOptions, ModelOptions, ServeOptions

__all__ = ["serve_command"]

# Maximum number of answers at a time if an engine runs the model; the engine has its own queue.
_MOST_OF_ENGINES = 1024


def serve_command(
    model: str | None,
    values: Mapping[str, Any],
    engines: Mapping[str | None, Mapping[str, Any]] | None = None,
) -> None:
    """Load the models and serve them until a stop signal.

    Args:
        model: A checkpoint's folder or repository; None: an engine or the demo.
        values: The command's settings by name, of all tables in `unspool.serve.settings`. None: the default.
        engines: The arguments of `connect` for each model's name.

    Raises:
        ArgumentError: As in `read_command`; or an option is incompatible with several processes.
    """
    listen = read_settings(ListenOptions, values)
    make = functools.partial(read_command, model, values, engines)
    if listen.workers > 1:
        from unspool.serve.processes import serve_processes

        serve_processes(make, listen)
        return
    models, options = make()
    ApiServer(models, options=options).fire(
        listen.host,
        listen.port,
        listen.metrics_port,
        listen.log_level,
        listen.ssl_keyfile,
        listen.ssl_certfile,
    )


def read_command(
    path: str | None,
    values: Mapping[str, Any],
    engines: Mapping[str | None, Mapping[str, Any]] | None = None,
) -> tuple[Callable[[], Mapping[str, Any]], ServeOptions]:
    """Return the function that loads the models, and the server's options; the arguments are those of `serve_command`.

    Raises:
        ArgumentError: Not exactly one of a checkpoint, engines and the demo is given.
    """
    model = read_settings(ModelOptions, values)
    if sum((path is not None, model.demo, bool(model.engine_urls), bool(engines))) != 1:
        raise ArgumentError(
            "name one model, a folder or a repository; or pass --engine URL for one that an engine runs, or --demo for "
            "none at all"
        )
    if model.engine_urls:
        engines = {model.name: _engine_of(model)}
    if engines and values.get("max_workers") is None:
        values = {**values, "max_workers": _MOST_OF_ENGINES}
    options = read_settings(ServeOptions, values)
    _check_also(model.also, model.demo, options.strict_markers)
    models: Callable[[], Mapping[str, Any]]
    if model.demo:
        from unspool.serve.models.demo_model import DemoModels

        models = functools.partial(DemoModels, model.delay)
    elif engines:
        from unspool.serve.engines.command import engine_loader

        models = engine_loader(engines, _shared_by_engines(model), options.prepare_timeout_s)
    else:
        assert path is not None
        _check_source(path, model.format, model.reasoning, model.gguf_file)
        models = _loader(path, model, options)
    record_mb = options.record_mb / read_settings(ListenOptions, values).workers
    return models, dataclasses.replace(options, record_mb=record_mb)


def _engine_of(model: ModelOptions) -> dict[str, Any]:
    return {
        "url": model.engine_urls,
        "kind": model.kind,
        "tokenizer": model.tokenizer,
        "model": model.engine_model,
        "api_key": model.engine_api_key,
    }


def _shared_by_engines(model: ModelOptions) -> dict[str, Any]:
    """Return the arguments of `connect` that an engine's table inherits unless it sets them.

    Raises:
        ArgumentError: A setting is for models that run here.
    """
    for name in ("device", "gguf_file", "cache_tokens"):
        if getattr(model, name) is not None:
            raise ArgumentError(
                f"--{name.replace('_', '-')} is the engine's to know; leave it out with --engine"
            )
    return {
        "format": model.format,
        "reasoning": model.reasoning,
        "also": model.also,
        "chat_template": model.chat_template,
        "trust_template": model.trust_template,
        "max_new_tokens": model.max_new_tokens,
    }


def _check_also(also: Any, is_demo: bool, strict_markers: bool) -> None:
    """Raise ArgumentError for options that exclude each other, and for an unknown format in `also`."""
    if is_demo and strict_markers:
        raise ArgumentError("a demo replays text, which has no tokens; leave --strict-markers out")
    if strict_markers and also:
        raise ArgumentError(
            "--strict-markers counts the model's own tokens, and --also reads other families; choose one"
        )
    if is_demo and also:
        raise ArgumentError("a demo replays each format's own cases; leave --also out")
    compile_others(also)


def _loader(path: str, settings: ModelOptions, options: ServeOptions) -> Callable[[], Mapping[str, Any]]:
    """Return the function that loads the model after the server has started."""

    def load() -> Mapping[str, Any]:
        try:
            model = load_checkpoint(
                path,
                format=settings.format,
                reasoning=settings.reasoning,
                also=settings.also,
                backend=settings.backend,
                cache_tokens=settings.cache_tokens,
                device=settings.device,
                dtype=settings.dtype,
                gguf_file=settings.gguf_file,
                chat_template=settings.chat_template,
                max_new_tokens=settings.max_new_tokens,
                strict_markers=options.strict_markers,
                trust_template=settings.trust_template,
                template_timeout_s=options.prepare_timeout_s,
            )
        except OSError as error:  # transformers' messages have several lines
            raise ArgumentError(
                f"cannot load '{path}': {str(error).strip().splitlines()[0]}; name a checkpoint's folder, or a "
                "repository that can be reached"
            ) from error
        return {settings.name or path.rstrip("/").rsplit("/", 1)[-1]: model}

    return load


def _check_source(path: str, format: str, reasoning: str | None, gguf_file: str | None) -> None:
    """Check the formats' names, and that `path` is a checkpoint's folder or may be a repository's name.

    Raises:
        ArgumentError: The folder does not exist, or has no checkpoint.
        UnknownFormatError: No format has this name.
    """
    check_format_names(format, reasoning)
    folder = Path(path).expanduser()
    if folder.is_file():
        raise ArgumentError(f"'{path}' is a file; name its folder{_gguf_hint(folder.parent, folder.name)}")
    if folder.is_dir():
        if gguf_file is not None:
            if not (folder / gguf_file).is_file():
                raise ArgumentError(f"'{path}' has no file '{gguf_file}'; --gguf-file names a file in it")
        elif not (folder / "config.json").is_file():
            ggufs = sorted(file.name for file in folder.glob("*.gguf"))
            if ggufs:
                raise ArgumentError(f"'{path}' has only GGUF weights{_gguf_hint(folder, ggufs[0])}")
            raise ArgumentError(f"'{path}' has no config.json; name the folder of a transformers checkpoint")
    elif is_path(path):
        raise ArgumentError(f"there is no folder '{path}'; name a checkpoint's folder, or a repository")
    else:
        check_repository(path)


def _gguf_hint(folder: Path, name: str) -> str:
    return f"; try: unspool serve {folder} --gguf-file {name}" if name.endswith(".gguf") else ""

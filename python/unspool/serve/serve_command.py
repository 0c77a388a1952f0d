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
from unspool.serve.options import ServeOptions

__all__ = ["serve_command"]

# Maximum number of answers at a time if an engine runs the model; the engine has its own queue.
_MOST_OF_ENGINES = 1024

# The command's options for an engine, and their names in a file's table.
_ENGINE_OPTIONS = {
    "engine_urls": "url",
    "kind": "kind",
    "tokenizer": "tokenizer",
    "engine_model": "model",
    "engine_api_key": "api_key",
}


def serve_command(
    model: str | None,
    *,
    host: str,
    port: int,
    metrics_port: int,
    log_level: str,
    ssl_keyfile: str | None,
    ssl_certfile: str | None,
    workers: int = 1,
    **further: Any,
) -> None:
    """Load the models and serve them until a stop signal.

    Args:
        workers: The number of processes that serve.
        further: The arguments of `read_command`.

    Raises:
        ArgumentError: As in `read_command`; or an option is incompatible with several processes.
    """
    make = functools.partial(read_command, model, workers=workers, **further)
    at = (host, port, metrics_port, log_level, ssl_keyfile, ssl_certfile)
    if workers > 1:
        from unspool.serve.processes import serve_processes

        serve_processes(make, workers, *at)
        return
    models, options = make()
    ApiServer(models, options=options).fire(*at)


def read_command(
    model: str | None,
    *,
    engines: Mapping[str | None, Mapping[str, Any]] | None = None,
    demo: bool,
    name: str | None,
    delay: float,
    workers: int,
    **further: Any,
) -> tuple[Callable[[], Mapping[str, Any]], ServeOptions]:
    """Return the function that loads the models, and the server's options.

    Args:
        engines: The arguments of `connect` for each model's name.
        workers: The number of processes, which share the space for records.
        further: The fields of `ServeOptions`, and the arguments of `load_checkpoint`.

    Raises:
        ArgumentError: Not exactly one of a checkpoint, engines and the demo is given.
    """
    engine = {field: further.pop(option) for option, field in _ENGINE_OPTIONS.items()}
    if sum((model is not None, demo, bool(engine["url"]), bool(engines))) != 1:
        raise ArgumentError(
            "name one model, a folder or a repository; or pass --engine URL for one that an engine runs, or --demo for "
            "none at all"
        )
    if engine["url"]:
        engines = {name: engine}
    if further["max_workers"] is None:
        further["max_workers"] = _MOST_OF_ENGINES if engines else ServeOptions.max_workers
    names = {item.name for item in dataclasses.fields(ServeOptions)}
    options = ServeOptions(**{key: value for key, value in further.items() if key in names})
    loading = {key: value for key, value in further.items() if key not in names}
    _check_also(loading["also"], demo, options.strict_markers)
    models: Callable[[], Mapping[str, Any]]
    if demo:
        from unspool.serve.models.demo_model import DemoModels

        models = functools.partial(DemoModels, delay)
    elif engines:
        from unspool.serve.engines.command import engine_loader

        models = engine_loader(engines, loading, options.prepare_timeout_s)
    else:
        assert model is not None
        _check_source(model, loading["format_"], loading["reasoning"], loading["gguf_file"])
        loading |= {"strict_markers": options.strict_markers, "template_timeout_s": options.prepare_timeout_s}
        models = _loader(model, name, **loading)
    return models, dataclasses.replace(options, record_mb=options.record_mb / workers)


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


def _loader(path: str, name: str | None, *, format_: str, **loading: Any) -> Callable[[], Mapping[str, Any]]:
    """Return the function that loads the model after the server has started."""

    def load() -> Mapping[str, Any]:
        try:
            model = load_checkpoint(path, format=format_, **loading)
        except OSError as error:  # transformers' messages have several lines
            raise ArgumentError(
                f"cannot load '{path}': {str(error).strip().splitlines()[0]}; name a checkpoint's folder, or a "
                "repository that can be reached"
            ) from error
        return {name or path.rstrip("/").rsplit("/", 1)[-1]: model}

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

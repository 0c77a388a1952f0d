"""`unspool serve --engine`, and the engines in its configuration file."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from unspool.core.wrong_call import near_names
from unspool.errors import ArgumentError
from unspool.formats.choose_format import check_format_names
from unspool.serve.engines import EngineModel, connect
from unspool.serve.engines.http import EngineHttp

__all__ = ["engine_loader"]

_MOST_FILES = 16_384


def engine_loader(
    engines: Mapping[str | None, Mapping[str, Any]], shared: Mapping[str, Any], template_timeout_s: float
) -> Callable[[], dict[str, EngineModel]]:
    """Return the function that connects to the engines; the server calls it after it has started.

    Args:
        engines: The arguments of `connect` for each model name; the name None stands for the engine's own name.
            "url" is one URL or a list.
        shared: The arguments that a table inherits unless it sets them.

    Raises:
        ArgumentError: An option is unknown, or a URL is invalid.
        UnknownFormatError: No format has this name.
    """
    asked = {
        name: {"template_timeout_s": template_timeout_s, **shared, **_read(name, engine)}
        for name, engine in engines.items()
    }
    for options in asked.values():
        check_format_names(options["format"], options["reasoning"])

    _open_more_files()

    def load() -> dict[str, EngineModel]:
        models = {name: connect(**options) for name, options in asked.items()}
        return {name or model.inference_name or "model": model for name, model in models.items()}

    return load


def _open_more_files() -> None:
    """Raise the limit of open files: an answer needs two connections, and the usual limit is 1,024 in all."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    least, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if most == resource.RLIM_INFINITY else min(most, _MOST_FILES)
    if least != resource.RLIM_INFINITY and least < wanted:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _read(name: str | None, engine: Mapping[str, Any]) -> dict[str, Any]:
    known = {*inspect.signature(connect).parameters, "url"} - {"urls"}
    options: dict[str, Any] = {}
    for key, value in engine.items():
        option = key.replace("-", "_")
        if option not in known:
            hint = near_names(option, known) or f"there are {', '.join(sorted(known))}"
            raise ArgumentError(f"engines.{name} has an unknown option '{key}'; {hint}")
        options["urls" if option == "url" else option] = value
    urls = options.get("urls") or ()
    if not urls:
        raise ArgumentError(f"engines.{name} has no url")
    for url in [urls] if isinstance(urls, str) else urls:
        EngineHttp(url)
    return options

"""Imports a server's parsers without the server's dependencies, such as GPU libraries and its engine."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any


def root_of(package: str, inside: str) -> Path:
    """Return the folder on the path that holds a package; raises ImportError if there is none."""
    for entry in sys.path:
        if (Path(entry) / package / inside).is_dir():
            return Path(entry)
    raise ImportError(f"{package} is not on the path")


def skip_inits(root: Path, packages: tuple[str, ...]) -> None:
    """Make packages importable without running their `__init__`."""
    for name in packages:
        if name not in sys.modules:
            module = types.ModuleType(name)
            module.__path__ = [str(root.joinpath(*name.split(".")))]
            sys.modules[name] = module


def stand_in(modules: tuple[str, ...]) -> None:
    """Replace modules that are imported but never used."""
    for name in modules:
        if name not in sys.modules:
            sys.modules[name] = _Anything(name)


class _Anything(types.ModuleType):
    """A module in which every name exists and does nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Nothing()


class _Nothing:
    def __getattr__(self, name: str) -> Any:
        return _Nothing()

    def __call__(self, *_: Any, **__: Any) -> Any:
        return _Nothing()

    def __bool__(self) -> bool:
        return False

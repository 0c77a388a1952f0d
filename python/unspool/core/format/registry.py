"""The formats by name: those of the package, and those that were registered."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from unspool._core import FormatSource
from unspool.core.fork_safety import ForkSafeLock
from unspool.core.wrong_call import near_names, shown
from unspool.errors import FormatError, UnknownFormatError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["add_source", "find_source", "is_known", "revision", "sources"]

_registered: dict[str, FormatSource] = {}
_registrations: list[str] = []  # the names in order of registration; it only grows
_lock = ForkSafeLock()
_SEPARATORS = str.maketrans("", "", "-_.")


@functools.cache
def _files() -> Mapping[str, Path]:
    """The package's files by format name, unread."""
    from pathlib import Path  # not before: importing unspool stays light

    # An editable install has several folders; only one of them has the files.
    folders = (Path(path, "parsers") for path in sys.modules["unspool"].__path__)
    folder = next(filter(Path.is_dir, folders))
    return {file.stem: file for file in sorted(folder.glob("*.toml"))}


def _folded(name: str) -> str:
    """The form in which names are compared, since hosts write deepseek-v3.2, deepseek_v3_2 and deepseekv32."""
    return name.lower().translate(_SEPARATORS)


@functools.cache
def _folded_files() -> Mapping[str, str]:
    return {_folded(name): name for name in _files()}


@functools.cache
def _shipped(name: str) -> FormatSource:
    file = _files()[name]
    return FormatSource(file.read_text(encoding="utf-8"), file.name)


@functools.cache
def _aliases() -> Mapping[str, str]:
    """The format of each folded alias of the package's files; reads all of them."""
    aliases: dict[str, str] = {}
    for name in _files():
        for alias in _shipped(name).aliases:
            aliases.setdefault(_folded(alias), name)
    return aliases


@functools.cache
def _model_names() -> Mapping[str, str]:
    """The format of each folded name in the `[detect]` tables of the package's files, unless it is a name or an alias."""
    names: dict[str, str] = {}
    for name in _files():
        for model in _names_of_models(_shipped(name)):
            names.setdefault(model, name)
    return names


def _names_of_models(source: FormatSource) -> tuple[str, ...]:
    return tuple(map(_folded, source.detect.get("names", ())))


def sources() -> tuple[FormatSource, ...]:
    """All formats, shipped and registered, sorted by name."""
    found = {name: _shipped(name) for name in _files()} | _registered
    return tuple(found[name] for name in sorted(found))


def is_known(name: str) -> bool:
    """Whether `find_source` knows the name."""
    try:
        find_source(name)
    except UnknownFormatError:
        return False
    return True


def find_source(name: str) -> FormatSource:
    """Return the format with this name or alias, or else with this name of a model in its `[detect]` table.

    A format's name needs only its own file; an alias needs all files.

    Upper and lower case are equal, and `-`, `_` and `.` are ignored.

    Raises:
        UnknownFormatError: There is no such format; the message suggests the nearest names.
    """
    key = _folded(name)
    for source in list(_registered.values()):  # another thread may register one
        if key in map(_folded, (source.name, *source.aliases)):
            return source
    if key in _folded_files():
        return _shipped(_folded_files()[key])
    if name.lower() in ("auto", "hf", "response_template"):
        raise UnknownFormatError(
            f"'{name}' asks a tokenizer; pass it to Parser or TokenStreamer as the format"
        )
    if key in _aliases():
        return _shipped(_aliases()[key])
    for source in list(_registered.values()):
        if key in _names_of_models(source):
            return source
    if key in _model_names():
        return _shipped(_model_names()[key])
    if name.endswith(".toml"):
        hint = f"to use a format file, call unspool.register_format({shown(name)}) and pass its name"
    elif "/" in name and len(name) < 200:
        hint = f"if it is a model's name, unspool.detect({shown(name)}) returns its formats, best first"
    else:
        near = near_names(name.lower(), [*_files(), *_aliases(), *_registered], 3) if len(name) < 200 else ""
        hint = " ".join(filter(None, (near, "`unspool formats` lists all")))
    raise UnknownFormatError(f"unknown format {shown(name)}; {hint}")


def add_source(source: FormatSource) -> None:
    """Register a format for this process.

    Raises:
        FormatError: Its name or an alias is taken.
    """
    with _lock:
        taken = {_folded(name) for other in _registered.values() for name in (other.name, *other.aliases)}
        taken |= _folded_files().keys() | _aliases().keys()
        for name in (source.name, *source.aliases):
            if _folded(name) in taken:
                raise FormatError(f"{source.source}: the name '{name}' is taken; choose another")
        _registered[source.name] = source
        _registrations.append(source.name)


def revision() -> int:
    """A number that grows with each registered format; results computed from names before may be out of date."""
    return len(_registrations)

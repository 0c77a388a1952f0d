"""Checks what `unspool serve` is to load, before anything is loaded."""

from __future__ import annotations

import os
from pathlib import Path

from unspool.errors import ArgumentError
from unspool.formats.choose_format import check_format_names

__all__ = ["check_source"]


def check_source(path: str, *, format: str, reasoning: str | None, gguf_file: str | None) -> None:
    """Check the formats' names, and that `path` is a checkpoint's folder or may be a repository's name.

    Raises:
        ArgumentError: There is no such folder, or it has no checkpoint.
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
    elif path.startswith((".", "~", os.sep)) or path.count("/") > 1 or "\\" in path:
        raise ArgumentError(f"there is no folder '{path}'; name a checkpoint's folder, or a repository")


def _gguf_hint(folder: Path, name: str) -> str:
    return f"; try: unspool serve {folder} --gguf-file {name}" if name.endswith(".gguf") else ""

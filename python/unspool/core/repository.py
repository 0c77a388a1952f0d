"""Checks whether a model's name can be a repository, before libraries retry for half a minute."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

from unspool.errors import ArgumentError

__all__ = ["check_repository", "is_path"]


def is_path(name: str) -> bool:
    """Whether a name has the form of a path, which a repository's name never has."""
    return name.startswith((".", "~", os.sep)) or name.count("/") > 1 or "\\" in name


def check_repository(name: str, suffixes: tuple[str, ...] = ()) -> None:
    """Check the name of a model that is neither a file nor a folder.

    Args:
        suffixes: Suffixes of files; a name that ends with one is a missing file.

    Raises:
        ArgumentError: The name is a path, or the repository is not cached and the hub cannot be reached.
    """
    if is_path(name) or name.endswith(suffixes):
        raise ArgumentError(f"there is no such file or folder: '{name}'")
    if os.environ.get("HF_HUB_OFFLINE", "0") not in ("", "0") or _is_kept(name):
        return
    import socket
    import urllib.request

    address = urlsplit(os.environ.get("HF_ENDPOINT") or "https://huggingface.co")
    if urllib.request.getproxies():
        return
    host, port = address.hostname or "huggingface.co", address.port or 443
    try:
        socket.create_connection((host, port), timeout=5).close()
    except OSError:
        raise ArgumentError(
            f"there is no folder '{name}', and {host} cannot be reached for a repository of this name"
        ) from None


def _is_kept(name: str) -> bool:
    try:
        from huggingface_hub.constants import HF_HUB_CACHE
    except ImportError:
        return False
    return (Path(HF_HUB_CACHE) / f"models--{name.replace('/', '--')}").is_dir()

"""The options of `unspool serve` in a TOML file."""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

from unspool.core.wrong_call import near_names
from unspool.errors import ArgumentError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["read_config_file"]


def read_config_file(path: str, names: Collection[str]) -> dict[str, Any]:
    """Read the options in a file.

    Args:
        names: The names of all options, such as "max-queue"; a file may also write "max_queue".

    Returns:
        The options by name; "engines" has a table for each model's engine, whose fields are not checked.

    Raises:
        ArgumentError: The file does not exist, is not TOML, or has an unknown option.
    """
    try:
        options = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ArgumentError(f"the configuration file '{path}' cannot be read: {error}") from None
    by_name: dict[str, Any] = {}
    for key, value in options.items():
        name = key.replace("_", "-")
        if name == "engines" and isinstance(value, dict):
            by_name[name] = value
            continue
        if name not in names:
            hint = near_names(name, names) or f"there are {', '.join(sorted(names))}"
            raise ArgumentError(f"'{path}' has an unknown option '{key}'; {hint}")
        by_name[name] = value
    return by_name

"""The results that are kept beside a run, for the page and for the next run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["Result", "keep", "kept"]

Result = dict[str, Any]


def kept(path: Path, *names: str) -> dict[tuple[str, ...], Result]:
    """Results by the values of these names."""
    return {tuple(result[name] for name in names): result for result in json.loads(path.read_text("utf-8"))}


def keep(path: Path, results: Sequence[Result], *names: str) -> None:
    """Write results over those of the same runs."""
    whole = {**kept(path, *names), **{tuple(result[name] for name in names): result for result in results}}
    text = json.dumps([whole[key] for key in sorted(whole)], indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")

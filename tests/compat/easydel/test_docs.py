"""The code in docs/easydel.md runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "easydel.md"


@pytest.mark.skipif(not PAGE.is_file(), reason="runs in a checkout")
def test_the_page(llama: Any, byte_tokenizer: Any) -> None:
    names: dict[str, Any] = {"model": llama, "tokenizer": byte_tokenizer}
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    exec(block, names)
    assert names["output"].finish_reason in ("stop", "length")

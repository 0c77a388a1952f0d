"""What the workloads of real text read: a vocabulary from PyPI, and ids of texts that stay as they are."""

from __future__ import annotations

import functools
import json
import logging
from importlib.metadata import files
from pathlib import Path
from typing import Any

from unspool import Vocabulary

TEXTS = Path(__file__).parent / "texts"
MARKERS = ("<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_end|>")
JSON_CALL = '<tool_call>\n{"name": "write", "arguments": {"text": "'
TAGGED_CALL = "<tool_call>\n<function=write>\n<parameter=text>\n"
#: The format, what stands before the text, the text, and whether it is inside a JSON string.
WORKLOADS = {
    "content_prose": ("hermes", "", "prose", False),
    "content_markdown": ("hermes", "", "markdown", False),
    "content_code": ("hermes", "", "code", False),
    "json_prose": ("hermes", JSON_CALL, "prose", True),
    "json_code": ("hermes", JSON_CALL, "code", True),
    "tagged_code": ("qwen3_coder", TAGGED_CALL, "code", False),
}


@functools.cache
def encoding() -> Any:
    """Qwen's, as tiktoken has it."""
    logging.disable()
    from dashscope.tokenizers.qwen_tokenizer import QwenTokenizer

    (path,) = (file for file in files("dashscope") or () if file.name == "qwen.tiktoken")
    return QwenTokenizer(str(path.locate()))._tokenizer


def prepare(folder: Path) -> None:
    """Write the vocabulary, and for each workload the format's name and the ids."""
    encode, ranks = encoding().encode_ordinary, encoding()._mergeable_ranks
    added = [(len(ranks) + 1000 + i, marker, marker, True) for i, marker in enumerate(MARKERS)]
    (folder / "vocabulary").write_bytes(Vocabulary(ranks, added, is_bytes=True).to_bytes())
    number = {marker: id for id, marker, _, _ in added}
    for name, (format, before, text, is_json) in WORKLOADS.items():
        body = (TEXTS / f"{text}.txt").read_text(encoding="utf-8")
        ids = []
        if before:
            marker = "<tool_call>"
            ids = [number[marker], *encode(before.removeprefix(marker))]
        ids += encode(json.dumps(body, ensure_ascii=False)[1:-1] if is_json else body)
        (folder / name).write_text(" ".join([format, *map(str, ids)]), encoding="utf-8")

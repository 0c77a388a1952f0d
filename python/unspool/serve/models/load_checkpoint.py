"""Loads a model from a folder or a repository with transformers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from unspool.core.format.other_families import Also, compile_others
from unspool.core.needs import needs
from unspool.errors import ArgumentError
from unspool.formats.choose_format import check_format_names
from unspool.generation import GenerationDefaults, StreamGenerator
from unspool.generation.prompts.sandboxed_template import SandboxedTemplate
from unspool.serve.models.check_reading import check_reading

__all__ = ["load_checkpoint"]


def load_checkpoint(
    path: str,
    *,
    format: str = "auto",
    reasoning: str | None = None,
    also: Also = (),
    backend: Any = "transformers",
    cache_tokens: int | None = None,
    device: str | None = None,
    dtype: str = "auto",
    gguf_file: str | None = None,
    chat_template: str | None = None,
    max_new_tokens: int = 1024,
    strict_markers: bool = False,
    trust_template: bool = False,
    template_timeout_s: float = 30.0,
) -> StreamGenerator:
    """Load a causal language model and its tokenizer.

    Args:
        path: A folder, or a repository's name.
        format, reasoning, also, backend, cache_tokens: As in `StreamGenerator` and `Parser`.
        device: Where the model runs, such as "cuda:0"; None: where transformers loads it.
        dtype: The weights' type, such as "bfloat16"; "auto": the checkpoint's.
        gguf_file: The file in the folder that has the weights.
        chat_template: A file with a chat template, instead of the checkpoint's own.
        max_new_tokens: The maximum number of tokens in an answer if the request sets no limit.
        strict_markers: Check that the model's markers are tokens.
        trust_template: Render the checkpoint's chat template in this process, without limits.
        template_timeout_s: Seconds that a rendering may take if the template is not trusted.

    Raises:
        ImportError: transformers or torch is missing.
        OSError: There is no checkpoint at `path`.
        UnspoolError: The system cannot limit the template, the format is unknown, `auto` cannot detect it, or its
            markers are not tokens. Raised before the weights load.
    """
    check_format_names(format, reasoning)
    compile_others(also)
    with needs("transformers"):
        from transformers import AutoModelForCausalLM, AutoTokenizer
    files = {} if gguf_file is None else {"gguf_file": gguf_file}
    tokenizer = AutoTokenizer.from_pretrained(path, **files)
    if chat_template is not None:
        tokenizer.chat_template = Path(chat_template).read_text(encoding="utf-8")
    check_reading(tokenizer, format, reasoning, strict_markers)
    # Both names work from 4.46 to 5; "dtype" alone does not.
    model = AutoModelForCausalLM.from_pretrained(path, torch_dtype=dtype, **files).eval()
    if device is not None:
        model = model.to(device)
    return StreamGenerator(
        model,
        tokenizer,
        format=format,
        reasoning=reasoning,
        also=also,
        backend=backend,
        cache_tokens=cache_tokens,
        config=GenerationDefaults(max_new_tokens=max_new_tokens),
        renderer=None
        if trust_template or chat_template is not None
        else _renderer(tokenizer, template_timeout_s),
    )


def _renderer(tokenizer: Any, timeout_s: float) -> SandboxedTemplate | None:
    """Return the sandbox for the template of an untrusted checkpoint; None: it has no template, or renders in code."""
    renders_itself = not type(tokenizer).apply_chat_template.__module__.startswith("transformers.")
    if renders_itself or not tokenizer.chat_template:
        return None
    if os.name != "posix":
        raise ArgumentError(
            "this system has no limits for a chat template; pass --trust-template if you trust the checkpoint's author"
        )
    return SandboxedTemplate(tokenizer, timeout_s)

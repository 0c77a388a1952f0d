"""A model from a folder or a repository's name, through transformers."""

from __future__ import annotations

from typing import Any

from unspool.generation import InferenceConfig, StreamGenerator

__all__ = ["load_checkpoint"]


def load_checkpoint(
    path: str,
    *,
    format: str = "auto",
    reasoning: str | None = None,
    backend: Any = "transformers",
    device: str | None = None,
    dtype: str = "auto",
    gguf_file: str | None = None,
    max_new_tokens: int = 1024,
) -> StreamGenerator:
    """Load a causal language model and its tokenizer.

    Args:
        path: A folder, or a repository's name.
        format, reasoning, backend: As of `StreamGenerator`.
        device: Where the model runs, such as "cuda:0"; None: where it was loaded to.
        dtype: The weights' type, such as "bfloat16"; "auto": as the checkpoint says.
        gguf_file: A file of this name in the folder holds the weights.
        max_new_tokens: How many tokens an answer may have.

    Raises:
        ImportError: transformers or torch is missing.
        OSError: There is no checkpoint at `path`.
    """
    try:
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as error:
        raise ImportError(f"{error}; pip install 'unspool[transformers]'") from None
    files = {} if gguf_file is None else {"gguf_file": gguf_file}
    tokenizer = AutoTokenizer.from_pretrained(path, **files)
    # Both names work from 4.46 to 5; "dtype" alone does not.
    model = AutoModelForCausalLM.from_pretrained(path, torch_dtype=dtype, **files).eval()
    if device is not None:
        model = model.to(device)
    return StreamGenerator(
        model,
        tokenizer,
        format=format,
        reasoning=reasoning,
        backend=backend,
        config=InferenceConfig(max_new_tokens=max_new_tokens),
    )

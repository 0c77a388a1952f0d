"""The tiny models of tests/generation."""

from ...generation.conftest import byte_tokenizer, llama

__all__ = ["byte_tokenizer", "llama"]

"""The tiny models of tests/generation."""

from ...generation.conftest import (
    byte_tokenizer,
    image_processor,
    llama,
    llava,
    scripted,
    t5,
    without_the_collector,
)

__all__ = ["byte_tokenizer", "image_processor", "llama", "llava", "scripted", "t5", "without_the_collector"]

"""Grammars for constrained decoding: what a model may write, for each matcher in its own syntax."""

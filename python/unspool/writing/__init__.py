"""Texts and grammars from a format: what a model would write, and what it may write."""

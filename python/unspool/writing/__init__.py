"""Renderings and grammars from a format: the text that a model would write, and the text that it may write."""

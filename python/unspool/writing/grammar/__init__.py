"""Grammars that constrain a model to a format. `FormatFile.grammar` is the entry point."""

from unspool.writing.grammar_result import Dropped, Grammar

__all__ = ["Dropped", "Grammar"]

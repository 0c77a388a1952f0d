"""The grammar that makes a model keep to a format: the other half of its file. `FormatFile.grammar` makes it."""

from unspool.grammar.result import Dropped, Grammar

__all__ = ["Dropped", "Grammar"]

"""The grammar that makes a model keep to a format: the other half of its file."""

from unspool.grammar.make_grammar import make_grammar
from unspool.grammar.result import Dropped, Grammar

__all__ = ["Dropped", "Grammar", "make_grammar"]

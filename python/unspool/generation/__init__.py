"""Running a model and consuming its deltas."""

from unspool.generation.generate import generate

__all__ = ["generate"]

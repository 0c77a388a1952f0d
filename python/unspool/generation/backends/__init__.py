"""The loops that run a model: transformers' `generate`, a loop of our own, and steps shared between requests."""

"""Formats by name: their files, detection of a model's format, and learning of new formats."""

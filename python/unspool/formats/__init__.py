"""Formats by name: their files, which one a model writes, and learning new ones."""

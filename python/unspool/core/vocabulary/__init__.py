"""Vocabularies from tokenizers of every kind."""

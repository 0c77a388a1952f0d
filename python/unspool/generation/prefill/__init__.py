"""Prompts read in chunks: pieces of ids made lazily, run through the model a chunk at a time."""

"""The rules of a grammar, and how they are built."""

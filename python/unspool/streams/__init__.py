"""Parsing of streams and whole outputs, from format names and tools to deltas and messages."""

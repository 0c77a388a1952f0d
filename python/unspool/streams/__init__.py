"""Streams and whole outputs: format names and tools in, deltas and messages out."""

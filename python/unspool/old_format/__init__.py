"""Reads format files in the old table notation, for `unspool check --migrate`."""

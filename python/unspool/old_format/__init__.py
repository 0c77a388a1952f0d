"""Format files that say how to read: what `unspool check --migrate` converts."""

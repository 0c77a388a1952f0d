"""Format sources, their registry by name, and their compilation."""

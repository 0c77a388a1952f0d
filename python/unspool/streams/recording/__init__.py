"""Answers of a server as files: what the model wrote, how it was parsed, and what came of it."""

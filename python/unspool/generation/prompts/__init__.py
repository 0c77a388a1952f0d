"""Converts a caller's prompt to token ids and model inputs."""

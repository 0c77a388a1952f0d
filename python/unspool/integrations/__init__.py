"""Integrations with other stacks: one module per host, which imports its host when it is imported itself.

Nothing here parses: each module passes the host's text and ids to the streamer, and converts the deltas.
"""

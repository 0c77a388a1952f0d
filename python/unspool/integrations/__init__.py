"""Integrations with other stacks: one module or package for each host, which imports the host's packages.

Nothing here parses: each module passes the host's text and ids to a stream, and converts the deltas.
"""

"""unspool in other people's stacks: one module a host, which imports its host when it is imported itself.

Nothing here parses: each module hands the host's text and ids to the streamer, and the deltas back in its shape.
"""

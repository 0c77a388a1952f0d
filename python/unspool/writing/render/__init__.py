"""Renders a message as a format's model writes it, by filling the holes of the patterns.

The entry points are `FormatFile.render` and `FormatFile.render_ids`.
"""

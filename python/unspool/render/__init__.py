"""A message as a format's model writes it: the patterns of its file, with the holes filled.

`FormatFile.render` and `FormatFile.render_ids` are the way in.
"""

"""Chat templates: found, rendered in a process with limits, and asked how they write an answer."""

"""A format's source, the formats by name, and compiling them."""

"""Records of a server's answers as files: what the model wrote, how it was parsed, and the result."""

"""`unspool serve`: its options, its configuration file, and the start of the server."""

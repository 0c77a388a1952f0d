"""One file per API: what a client sends, checked and read into one request."""

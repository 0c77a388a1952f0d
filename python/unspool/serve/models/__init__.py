"""What runs a model for the server: the interface, the answers that it begins, the demo."""

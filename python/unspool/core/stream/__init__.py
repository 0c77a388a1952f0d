"""What a stream needs and returns: options, tools, the message, labels, snapshots."""

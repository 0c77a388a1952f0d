"""The inputs and results of a stream: options, tools, the message, labels, snapshots."""

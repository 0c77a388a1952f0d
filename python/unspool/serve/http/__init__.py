"""What every route shares: limits, ids, metrics, errors, and the bytes of a stream."""

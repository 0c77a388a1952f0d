"""JSON Schema: compares a value with its schema, with patterns that match in linear time."""

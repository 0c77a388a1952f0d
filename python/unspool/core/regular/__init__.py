"""Regular expressions: the patterns of JSON Schema, read, matched in linear time, and written for an engine."""

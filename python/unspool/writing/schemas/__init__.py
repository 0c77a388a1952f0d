"""From a JSON Schema to the rules of its values."""

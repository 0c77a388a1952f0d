"""The inputs and outputs of the native core: formats, vocabularies and streams."""

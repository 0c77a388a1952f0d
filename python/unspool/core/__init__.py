"""What the native core takes and gives: formats, vocabularies and streams."""

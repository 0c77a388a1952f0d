"""How each engine takes a grammar: printers, and masks of tokens."""

"""Tokenizes a prompt in pieces whose ids equal those of the whole text."""

from unspool.generation.prompts.pieces.pieces import iter_prompt_ids, iter_prompt_token_pieces

__all__ = ["iter_prompt_ids", "iter_prompt_token_pieces"]

"""A prompt's token ids in pieces while its text is tokenized; equal to those of the whole text at once."""

from unspool.prompt_pieces.pieces import iter_prompt_ids, iter_prompt_token_pieces

__all__ = ["iter_prompt_ids", "iter_prompt_token_pieces"]

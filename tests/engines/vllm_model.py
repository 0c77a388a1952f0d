"""A tiny Qwen 3 for an engine: a config, Qwen's tokenizer and a chat template, and no weights."""

from __future__ import annotations

import json
from importlib.metadata import distribution
from pathlib import Path

from tokenizers import AddedToken
from transformers import PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import TikTokenConverter

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
# Qwen 3 adds these as tokens that are not special.
MARKERS = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>")
# As Qwen 3's template, without the texts around the tools; `answer_start` is what the model's turn begins with.
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{{ message.content if message.content is string else message.content | map(attribute='text') | join }}"
    "<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if answer_start is defined %}{{ answer_start }}"
    "{% elif enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
TOKENS = 20_000
PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
CONFIG = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 1,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "hidden_act": "silu",
    "max_position_embeddings": 8192,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
    "torch_dtype": "float32",
    "use_cache": True,
}


class FirstTokens(TikTokenConverter):  # type: ignore[misc]
    """The vocabulary's first tokens, with their merges: steps of the engine are faster, and tokens as real."""

    @staticmethod
    def load_tiktoken_bpe(tiktoken_url: str) -> dict[bytes, int]:
        ranks = TikTokenConverter.load_tiktoken_bpe(tiktoken_url)
        return {token: rank for token, rank in ranks.items() if rank < TOKENS}


def make_tokenizer() -> PreTrainedTokenizerFast:
    """The vocabulary that `dashscope` ships, with Qwen 3's markers."""
    files = distribution("dashscope").files or ()
    [vocabulary] = [file for file in files if file.name == "qwen.tiktoken"]
    converter = FirstTokens(vocab_file=str(vocabulary.locate()), pattern=PATTERN, add_prefix_space=False)
    fast = converter.converted()
    fast.add_special_tokens([AddedToken(text, special=True) for text in SPECIAL])
    fast.add_tokens([AddedToken(text, special=False) for text in MARKERS])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=fast, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def write_model(folder: Path) -> PreTrainedTokenizerFast:
    """Write the model's folder and return its tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = make_tokenizer()
    tokenizer.save_pretrained(folder)
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    config = {**CONFIG, "vocab_size": len(tokenizer), "eos_token_id": end, "bos_token_id": None}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": end}), encoding="utf-8")
    return tokenizer

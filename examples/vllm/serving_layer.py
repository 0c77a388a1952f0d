"""vLLM's own serving layer with unspool's parsers, without an engine: the stream of a chat request.

Run: python examples/vllm/serving_layer.py       (vLLM 0.33; needs no GPU and no weights)

`ParserManager` and `ChatStreamProcessor` are what `vllm serve` puts between the engine and the answer. Here
the engine's chunks are written by hand: text, and the token ids that made it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from unspool.integrations.vllm import register
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.entrypoints.openai.chat_completion.stream_processor import ChatStreamProcessor
from vllm.parser.parser_manager import ParserManager

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
]
OUTPUT = (
    "<think>\nThe user asks for the weather.\n</think>\n\nOne moment.\n"
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich"}}\n</tool_call>'
)


def make_tokenizer() -> PreTrainedTokenizerFast:
    """One token per byte and per marker; a real tokenizer comes with your model."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    model = models.BPE(vocab={token: id for id, token in enumerate(alphabet)}, merges=[])
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens(["<think>", "</think>", "<tool_call>", "</tool_call>"])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def stream(output: str, tool_parser: str, reasoning_parser: str) -> Iterator[dict[str, Any]]:
    """The chunks' deltas and the finish reason, as vLLM's chat endpoint sends them."""
    tokenizer = make_tokenizer()
    parser_class = ParserManager.get_parser(
        tool_parser_name=tool_parser,
        reasoning_parser_name=reasoning_parser,
        enable_auto_tools=True,
        tokenizer=tokenizer,
    )
    request = ChatCompletionRequest(
        model="m", messages=[{"role": "user", "content": "Weather in Zürich?"}], tools=TOOLS
    )
    parser = parser_class(tokenizer, request.tools, chat_template_kwargs={})
    request = parser.adjust_request(request)
    processor = ChatStreamProcessor(request, parser, enable_auto_tools=True, parser_cls=parser_class)
    prompt = tokenizer.encode("<|im_start|>assistant\n", add_special_tokens=False)
    ids = tokenizer.encode(output, add_special_tokens=False)
    sent = ""
    for end in range(1, len(ids) + 1):
        text = tokenizer.decode(ids[:end]).removesuffix(
            "\ufffd"
        )  # the engine holds back incomplete characters
        step = processor.step(
            text[len(sent) :], ids[end - 1 : end], "stop" if end == len(ids) else None, prompt
        )
        sent = text
        if step.delta is not None or step.finish_reason:
            delta = step.delta.model_dump(exclude_unset=True) if step.delta is not None else {}
            yield {"delta": delta, "finish_reason": step.finish_reason}


register()  # `pip install 'unspool[vllm]'` is enough for `vllm serve`, which loads plug-ins by itself

if __name__ == "__main__":
    for chunk in stream(OUTPUT, "unspool_hermes", "unspool_qwen3"):
        print(json.dumps(chunk, ensure_ascii=False))

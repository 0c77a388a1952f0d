"""vLLM's detokenizer step and tool parsers, called as its serving layer calls them, a token at a time."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import workloads

label = "vLLM"


def version() -> str:
    import vllm

    return str(getattr(vllm, "__version__", "unknown"))


def _parser(path: str, name: str) -> Any:
    def runner(load: workloads.Workload) -> Any:
        from tokenizers.decoders import DecodeStream
        from transformers import PreTrainedTokenizerFast
        from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest

        base = workloads.tokenizer()
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=base)
        tokenizer.add_tokens(["<|python_tag|>", "<tool_call>", "</tool_call>"])
        request = ChatCompletionRequest(model="m", messages=[], tools=workloads.TOOLS)
        cls = getattr(import_module(path), name)
        try:
            parser = cls(tokenizer, request.tools)
        except TypeError:
            parser = cls(tokenizer)
        stream, ids, out = DecodeStream(skip_special_tokens=False), load.ids, []
        state: dict[str, Any] = {"text": "", "ids": []}

        def step(i: int) -> None:
            delta_text = stream.step(base, ids[i]) or ""
            before, ids_before = state["text"], state["ids"]
            state["text"], state["ids"] = before + delta_text, [*ids_before, ids[i]]
            delta = parser.extract_tool_calls_streaming(
                before, state["text"], delta_text, ids_before, state["ids"], [ids[i]], request
            )
            for call in (delta.tool_calls or ()) if delta is not None else ():
                if call.function and call.function.arguments:
                    out.append(call.function.arguments)

        return step, lambda: "".join(out)

    return runner


def _detokenize(load: workloads.Workload) -> Any:
    from transformers import PreTrainedTokenizerFast
    from vllm.sampling_params import SamplingParams
    from vllm.v1.engine import EngineCoreRequest
    from vllm.v1.engine.detokenizer import FastIncrementalDetokenizer

    tokenizer = PreTrainedTokenizerFast(tokenizer_object=workloads.tokenizer())
    values = {
        "request_id": "r", "prompt_token_ids": [0], "mm_features": None, "sampling_params": SamplingParams(),
        "pooling_params": None, "eos_token_id": None, "arrival_time": 0.0, "lora_request": None,
        "cache_salt": None, "data_parallel_rank": None,
    }  # fmt: skip
    fields = set(EngineCoreRequest.__struct_fields__)
    request = EngineCoreRequest(**{key: value for key, value in values.items() if key in fields})
    detokenizer = FastIncrementalDetokenizer(tokenizer, request)
    ids, out = load.ids, []

    def step(i: int) -> None:
        detokenizer.update([ids[i]], False)
        out.append(detokenizer.get_next_output_text(False, True))

    return step, lambda: "".join(out)


def runners() -> dict[str, Any]:
    return {
        "detokenize": _detokenize,
        "hermes": _parser("vllm.tool_parsers.hermes_tool_parser", "Hermes2ProToolParser"),
        "llama3_json": _parser("vllm.tool_parsers.llama_tool_parser", "Llama3JsonToolParser"),
    }

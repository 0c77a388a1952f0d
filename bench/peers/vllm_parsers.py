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


def _detokenizer(tokenizer: Any, *, skip_special_tokens: bool = True) -> Any:
    from vllm.sampling_params import SamplingParams
    from vllm.v1.engine import EngineCoreRequest
    from vllm.v1.engine.detokenizer import FastIncrementalDetokenizer

    sampling = SamplingParams(skip_special_tokens=skip_special_tokens)
    values = {
        "request_id": "r", "prompt_token_ids": [0], "mm_features": None, "sampling_params": sampling,
        "pooling_params": None, "eos_token_id": None, "arrival_time": 0.0, "lora_request": None,
        "cache_salt": None, "data_parallel_rank": None,
    }  # fmt: skip
    fields = set(EngineCoreRequest.__struct_fields__)
    request = EngineCoreRequest(**{key: value for key, value in values.items() if key in fields})
    return FastIncrementalDetokenizer(tokenizer, request)


def _detokenize(load: workloads.Workload) -> Any:
    from transformers import PreTrainedTokenizerFast

    detokenizer = _detokenizer(PreTrainedTokenizerFast(tokenizer_object=workloads.tokenizer()))
    ids, out = load.ids, []

    def step(i: int) -> None:
        detokenizer.update([ids[i]], False)
        out.append(detokenizer.get_next_output_text(False, True))

    return step, lambda: "".join(out)


def streams(load: workloads.Workload, count: int) -> Any:
    """What its output processor and its serving layer do for each stream and token, without their queues."""
    from transformers import PreTrainedTokenizerFast
    from vllm.entrypoints.openai.chat_completion import protocol
    from vllm.tool_parsers.hermes_tool_parser import Hermes2ProToolParser

    tokenizer = PreTrainedTokenizerFast(tokenizer_object=workloads.tokenizer())
    tokenizer.add_tokens(["<tool_call>", "</tool_call>"])
    request = protocol.ChatCompletionRequest(model="m", messages=[], tools=workloads.TOOLS)

    def make() -> Any:
        detokenizer = _detokenizer(tokenizer, skip_special_tokens=False)
        parser = Hermes2ProToolParser(tokenizer, request.tools)
        return {"detokenizer": detokenizer, "parser": parser, "text": "", "ids": [], "sent": []}

    rows, ids = [make() for _ in range(count)], load.ids

    def step(i: int) -> None:
        id = ids[i]
        for row in rows:
            row["detokenizer"].update([id], False)
            delta_text = row["detokenizer"].get_next_output_text(False, True)
            before, ids_before = row["text"], row["ids"]
            row["text"], row["ids"] = before + delta_text, [*ids_before, id]
            delta = row["parser"].extract_tool_calls_streaming(
                before, row["text"], delta_text, ids_before, row["ids"], [id], request
            )
            if delta is None:
                continue
            choice = protocol.ChatCompletionResponseStreamChoice(index=0, delta=delta)
            chunk = protocol.ChatCompletionStreamResponse(
                id="chatcmpl-1", created=1, model="model", choices=[choice]
            )
            row["sent"].append(f"data: {chunk.model_dump_json(exclude_unset=True)}\n\n")

    return step, lambda: "".join(rows[-1]["sent"])


def runners() -> dict[str, Any]:
    return {
        "detokenize": _detokenize,
        "hermes": _parser("vllm.tool_parsers.hermes_tool_parser", "Hermes2ProToolParser"),
        "llama3_json": _parser("vllm.tool_parsers.llama_tool_parser", "Llama3JsonToolParser"),
    }

"""The example of an output processor: what vLLM's and SGLang's engines send, to bytes."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import warnings
from array import array
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from unspool import StreamBatch, Vocabulary

from ..scripts import load_script

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "engine_steps.py"
pytestmark = pytest.mark.skipif(not EXAMPLE.exists(), reason="runs in a checkout")


@pytest.fixture(scope="module")
def example() -> ModuleType:
    return load_script(EXAMPLE)


def bytes_vocabulary() -> Vocabulary:
    return Vocabulary({bytes([byte]): byte for byte in range(256)}, [], is_bytes=True)


def content(sse: bytes) -> str:
    chunks = [json.loads(line[6:]) for line in sse.decode().splitlines() if line.startswith("data: {")]
    return "".join(choice["delta"].get("content", "") for chunk in chunks for choice in chunk["choices"])


def run(processor: Any, steps: list[Any]) -> tuple[dict[str, bytes], list[str]]:
    sent: dict[str, bytes] = {}
    ended: list[str] = []
    for step in steps:
        sse, gone = processor.step(step)
        for request_id, data in sse.items():
            sent[request_id] = sent.get(request_id, b"") + data
        ended += gone
    return sent, ended


def vllm_output(request_id: str, text: str, reason: str | None = None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            from vllm.v1.engine import EngineCoreOutput, FinishReason
        except ImportError:
            return SimpleNamespace(
                request_id=request_id, new_token_ids=list(text.encode()), finish_reason=reason
            )
    found = None if reason is None else FinishReason[reason.upper()]
    return EngineCoreOutput(request_id=request_id, new_token_ids=list(text.encode()), finish_reason=found)


def test_vllm(example: ModuleType) -> None:
    processor = example.OutputProcessor(StreamBatch(bytes_vocabulary(), "hermes"), "m")
    processor.add("a")
    processor.add("b", stop="END")
    steps = [
        [vllm_output("a", "Hello "), vllm_output("b", "Good E")],
        [vllm_output("b", "ND no"), vllm_output("a", "world")],
        [vllm_output("a", "!", "length"), vllm_output("b", "late")],
    ]
    sent, ended = run(processor, [example.from_vllm(step) for step in steps])
    assert content(sent["a"]) == "Hello world!"
    assert content(sent["b"]) == "Good "
    assert ended == ["b", "a"]
    assert re.findall(rb'"finish_reason":"(\w+)"', sent["a"] + sent["b"]) == [b"length", b"stop"]
    assert all(data.endswith(b"data: [DONE]\n\n") for data in sent.values())


def test_sglang(example: ModuleType) -> None:
    def output(rows: list[tuple[str, str, int, str | None]]) -> Any:
        return SimpleNamespace(
            rids=[row[0] for row in rows],
            decode_ids=[array("i", list(row[1].encode())) for row in rows],
            read_offsets=[row[2] for row in rows],
            finished_reasons=[None if row[3] is None else {"type": row[3]} for row in rows],
        )

    processor = example.OutputProcessor(StreamBatch(bytes_vocabulary(), "hermes"), "m")
    processor.add("a")
    running: set[str] = set()
    steps = [output([("a", "end of promptHel", 13, None)]), output([("a", "lo", 13, "stop")])]
    sent, ended = run(processor, [example.from_sglang(step, running) for step in steps])
    assert content(sent["a"]) == "Hello"
    assert ended == ["a"]
    assert running == set()


def test_sglangs_class_has_what_the_example_reads() -> None:
    """Read from its source: the class itself needs what only a GPU's machine has."""
    spec = importlib.util.find_spec("sglang")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("needs SGLang")
    path = Path(spec.submodule_search_locations[0]) / "srt" / "managers" / "io_struct.py"
    classes = {node.name: node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)}
    fields = {
        node.target.id
        for name in ("BaseBatchReq", "BatchTokenIDOutput")
        for node in classes[name].body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    assert {"rids", "decode_ids", "read_offsets", "finished_reasons"} <= fields

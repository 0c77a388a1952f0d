"""The kinds of engine that the server can be in front of; `unspool.serve.engines.connect` has a row for each."""

from __future__ import annotations

from typing import Literal

__all__ = ["EngineKind"]

EngineKind = Literal["vllm", "sglang", "llamacpp", "completions"]

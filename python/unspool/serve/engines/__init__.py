"""Engines that run a model for the server: vLLM, SGLang, llama.cpp, any completions endpoint, or your own engine.

Needs `pip install 'unspool[engine]'`.
"""

from unspool.core.needs import needs

with needs("engine"):
    from unspool.serve.engines.connect import Kind, connect
    from unspool.serve.engines.engine import Engine, EngineLogprob, EngineOutput, EngineRequest
    from unspool.serve.engines.engine_model import EngineModel
    from unspool.serve.engines.replicas import Replicas

__all__ = [
    "Engine",
    "EngineLogprob",
    "EngineModel",
    "EngineOutput",
    "EngineRequest",
    "Kind",
    "Replicas",
    "connect",
]

"""Running a model and consuming its deltas."""

from unspool.generation.defaults import POSITION_NAMES, GenerationDefaults, model_positions
from unspool.generation.delta_stream import DeltaStream
from unspool.generation.generate import generate
from unspool.generation.hooks import ConditioningHook
from unspool.generation.logprobs import TokenLogprob
from unspool.generation.result import Choice, StreamMetrics, StreamResult, Usage
from unspool.generation.sampling_params import SamplingParams
from unspool.generation.stream_generator import StreamGenerator
from unspool.generation.worker import active_workers

__all__ = [
    "POSITION_NAMES",
    "Choice",
    "ConditioningHook",
    "DeltaStream",
    "GenerationDefaults",
    "SamplingParams",
    "StreamGenerator",
    "StreamMetrics",
    "StreamResult",
    "TokenLogprob",
    "Usage",
    "active_workers",
    "generate",
    "model_positions",
]

"""Runs a model and streams its deltas."""

from unspool.generation.answer_request import AnswerRequest
from unspool.generation.answers import Answers
from unspool.generation.delta_stream import DeltaStream
from unspool.generation.generate import generate
from unspool.generation.hooks import ConditioningHook
from unspool.generation.logprobs import TokenLogprob
from unspool.generation.model_run import ModelRun
from unspool.generation.prefill.context_limit import POSITION_NAMES, model_positions
from unspool.generation.prompts.sandboxed_template import SandboxedTemplate
from unspool.generation.sampling_params import GenerationDefaults, SamplingParams
from unspool.generation.served_model import ServedModel
from unspool.generation.stream_generator import StreamGenerator
from unspool.generation.stream_result import Choice, StreamMetrics, StreamResult, Usage
from unspool.generation.worker import active_workers

__all__ = [
    "POSITION_NAMES",
    "AnswerRequest",
    "Answers",
    "Choice",
    "ConditioningHook",
    "DeltaStream",
    "GenerationDefaults",
    "ModelRun",
    "SamplingParams",
    "SandboxedTemplate",
    "ServedModel",
    "StreamGenerator",
    "StreamMetrics",
    "StreamResult",
    "TokenLogprob",
    "Usage",
    "active_workers",
    "generate",
    "model_positions",
]

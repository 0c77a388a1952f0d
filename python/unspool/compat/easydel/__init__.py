"""EasyDeL's inference API: `vInference`, its configs and its results."""

from unspool.compat.easydel.config import InferenceConfig, PreCompileConfig, power_of_two_lengths
from unspool.compat.easydel.engine import vInference
from unspool.compat.easydel.outputs import PromptOutput, SampleState
from unspool.compat.easydel.process_prompts import PromptEvent
from unspool.compat.easydel.progress import ProgressCallback

__all__ = [
    "InferenceConfig",
    "PreCompileConfig",
    "ProgressCallback",
    "PromptEvent",
    "PromptOutput",
    "SampleState",
    "power_of_two_lengths",
    "vInference",
]

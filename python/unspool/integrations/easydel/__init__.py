"""EasyDeL's inference API: `vInference`, its configs and its results."""

from unspool.integrations.easydel.config import InferenceConfig, PreCompileConfig, power_of_two_lengths
from unspool.integrations.easydel.engine import vInference
from unspool.integrations.easydel.outputs import PromptOutput, SampleState
from unspool.integrations.easydel.process_prompts import PromptEvent
from unspool.integrations.easydel.progress import ProgressCallback

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

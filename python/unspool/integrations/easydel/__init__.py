"""EasyDeL's inference API: `vInference`, its configs, results and server, under EasyDeL's names and unspool's names."""

from typing import TYPE_CHECKING, Any

from unspool.generation import SamplingParams
from unspool.integrations.easydel.config import InferenceConfig, PreCompileConfig, power_of_two_lengths
from unspool.integrations.easydel.engine import vInference
from unspool.integrations.easydel.outputs import PromptOutput, SampleState
from unspool.integrations.easydel.process_prompts import PromptEvent
from unspool.integrations.easydel.progress import ProgressCallback

if TYPE_CHECKING:
    from unspool.integrations.easydel.api_server import vInferenceApiServer

__all__ = [
    "InferenceConfig",
    "PreCompileConfig",
    "ProgressCallback",
    "PromptEvent",
    "PromptOutput",
    "SampleState",
    "SamplingParams",
    "power_of_two_lengths",
    "vInference",
    "vInferenceApiServer",
    "vInferenceConfig",
    "vInferencePreCompileConfig",
]

vInferenceConfig = InferenceConfig
vInferencePreCompileConfig = PreCompileConfig


def __getattr__(name: str) -> Any:
    if name != "vInferenceApiServer":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from unspool.integrations.easydel.api_server import vInferenceApiServer  # needs the server's packages

    return vInferenceApiServer

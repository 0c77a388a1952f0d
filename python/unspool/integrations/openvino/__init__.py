"""OpenVINO GenAI: pipelines that return deltas and messages, and a streamer and a parser for hosts that call GenAI
themselves."""

from unspool.core.needs import needs

with needs("openvino"):
    import openvino_genai  # noqa: F401

from unspool.integrations.openvino.batching import BatchedStream, ContinuousBatching
from unspool.integrations.openvino.message_parser import MessageParser
from unspool.integrations.openvino.streamer import DeltaStreamer
from unspool.integrations.openvino.structured_output import structured_output
from unspool.integrations.openvino.text_generation import TextGeneration, pipeline

__all__ = [
    "BatchedStream",
    "ContinuousBatching",
    "DeltaStreamer",
    "MessageParser",
    "TextGeneration",
    "pipeline",
    "structured_output",
]

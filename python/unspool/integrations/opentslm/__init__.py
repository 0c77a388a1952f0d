"""OpenTSLM's streaming interface: text for one sample, whose model inputs its class makes."""

from unspool.integrations.opentslm.sample_generator import SampleGenerator

__all__ = ["SampleGenerator"]

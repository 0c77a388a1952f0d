"""Traces of how an output is parsed, step by step, for notebooks, the terminal and the playground."""

from unspool.streams.tracing.trace import Step, Trace, trace
from unspool.streams.tracing.why import Diagnosis, Reader, Stop, why

__all__ = ["Diagnosis", "Reader", "Step", "Stop", "Trace", "trace", "why"]

"""oLLM's interfaces: the record of a prefill, and callbacks or events instead of iteration."""

from unspool.integrations.ollm.prefill_scope import PrefillGap, PrefillScope, gap_inventory
from unspool.integrations.ollm.sink import StreamSink, send_to_sink, status_events

__all__ = ["PrefillGap", "PrefillScope", "StreamSink", "gap_inventory", "send_to_sink", "status_events"]

"""vLLM: every format as `unspool_<name>` for `--tool-call-parser` and `--reasoning-parser`, from 0.11 to 0.33.

Registered by the entry point `vllm.general_plugins`, or by `--tool-parser-plugin unspool.integrations.vllm`. Where
vLLM composes one `Parser` of the two names (from 0.24), both of ours become one, `UnspoolParser`: one streamer reads
text and ids and gives reasoning, content and calls. A pair with another parser, and older servers, use the two classes
one after the other.
"""

from __future__ import annotations

from unspool.integrations.vllm.composed_parser import UnspoolParser
from unspool.integrations.vllm.reasoning_parser import UnspoolReasoningParser
from unspool.integrations.vllm.registration import register
from unspool.integrations.vllm.tool_parser import UnspoolToolParser

__all__ = ["UnspoolParser", "UnspoolReasoningParser", "UnspoolToolParser", "register"]

register()

"""vLLM: every format as `unspool_<name>` for `--tool-call-parser` and `--reasoning-parser`, from 0.11 to
0.33.

The parsers are registered by the entry point `vllm.general_plugins`, or by `--tool-parser-plugin
unspool.integrations.vllm`. Since 0.24, vLLM composes one `Parser` from the two names. If both names are
unspool's, they become one `UnspoolParser`: a single streamer reads text and ids and returns reasoning, content
and calls. If one of them is another parser, and on older servers, the two classes run one after the other.
"""

from __future__ import annotations

from unspool.integrations.vllm.composed_parser import UnspoolParser
from unspool.integrations.vllm.reasoning_parser import UnspoolReasoningParser
from unspool.integrations.vllm.registration import register
from unspool.integrations.vllm.tool_parser import UnspoolToolParser

__all__ = ["UnspoolParser", "UnspoolReasoningParser", "UnspoolToolParser", "register"]

register()

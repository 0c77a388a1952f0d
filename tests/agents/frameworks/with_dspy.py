"""dspy over chat, Responses and completions. Its programs need a model that keeps to its own layout."""

from __future__ import annotations

from typing import Any

import dspy
from cases import TEXT, URL, case

AT = {"api_base": f"{URL}/v1", "api_key": "none", "cache": False}
MODELS = {
    "chat": dspy.LM("openai/chat", **AT),
    "responses": dspy.LM("openai/responses", model_type="responses", **AT),
    "completions": dspy.LM("openai/completions", model_type="text", **AT),
}

for api, model in MODELS.items():

    @case(api, "text", TEXT)
    def text(model: Any = model) -> str:
        said = model("Hello")[0]
        return str(said["text"] if isinstance(said, dict) else said).strip()

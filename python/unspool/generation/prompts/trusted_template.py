"""Renders a trusted chat template in this process, without limits."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from unspool.formats.templates.child import template_environment
from unspool.generation.prompts.template_renderer import TemplateRenderer

__all__ = ["TrustedTemplate"]


class TrustedTemplate(TemplateRenderer):
    """Renders in the same environment as `SandboxedTemplate`; the template's errors are raised unchanged."""

    def _render(self, template: str, variables: str) -> str:
        return str(_compiled(template).render(json.loads(variables)))


@lru_cache(16)
def _compiled(template: str) -> Any:
    return template_environment().from_string(template)

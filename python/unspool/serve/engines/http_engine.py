"""The base class of engines that are reached over HTTP."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, ClassVar

from unspool.serve.engines.engine import Engine
from unspool.serve.engines.http import EngineHttp

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["HttpEngine"]


class HttpEngine(Engine):
    """An engine at an address.

    Attributes:
        health: The path that answers with success while the engine can answer.

    Args:
        http: The address.
    """

    health: ClassVar[str] = "/health"

    def __init__(self, http: EngineHttp) -> None:
        self._http: Any = http

    def at(self, http: EngineHttp) -> Self:
        """Return the same engine at another address."""
        other = copy.copy(self)
        other._http = http
        return other

    async def check_ready(self) -> None:
        """As in `Engine`."""
        await self._http.get(self.health)

    async def aclose(self) -> None:
        """As in `Engine`."""
        await self._http.aclose()

    def __str__(self) -> str:
        return f"{self.label} at {self._http.url}"

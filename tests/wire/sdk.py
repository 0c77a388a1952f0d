"""The official SDKs' own clients, fed from bytes: no network, no key."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest


def import_sdk(name: str) -> ModuleType:
    """The SDK; skips where it is not installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, reason=f"{name} is not installed; pip install {name}")


def client(sdk: ModuleType, make_client: Callable[..., Any], wire: bytes, *, sse: bool = True) -> Any:
    """A client whose server answers each request with these bytes."""
    # Which of the HTTP libraries it is built on differs between versions.
    http = importlib.import_module(sdk.DefaultHttpxClient.__mro__[1].__module__.split(".")[0])
    kind = "text/event-stream" if sse else "application/json"

    def answer(_: Any) -> Any:
        return http.Response(200, headers={"content-type": kind}, content=wire)

    return make_client(
        api_key="none",
        base_url="http://test.invalid/v1",
        max_retries=0,
        http_client=http.Client(transport=http.MockTransport(answer)),
    )

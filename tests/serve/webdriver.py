"""Headless Chromium over the WebDriver protocol: what these tests need, and no more."""

from __future__ import annotations

import base64
import contextlib
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium")
CHROMEDRIVER = shutil.which("chromedriver")
MISSING = None if CHROMIUM and CHROMEDRIVER else "no chromium and chromedriver (Debian: chromium-driver)"

_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
]
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {
    "left": "\ue012",
    "up": "\ue013",
    "right": "\ue014",
    "down": "\ue015",
    "enter": "\ue007",
    "home": "\ue011",
}


def free_port() -> int:
    """A free port of the loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Browser:
    """One window. Its console and its network requests are recorded."""

    def __init__(self, profile: Path) -> None:
        port = free_port()
        self._url = f"http://127.0.0.1:{port}"
        self._process = subprocess.Popen(
            [str(CHROMEDRIVER), f"--port={port}", "--log-level=OFF"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            self._session = self._begin(profile)
        except BaseException:
            self._process.kill()
            self._process.wait()
            raise

    def _begin(self, profile: Path) -> str:
        flags = [*_FLAGS, f"--user-data-dir={profile}"]
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": {"binary": CHROMIUM, "args": flags},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        for _ in range(100):
            with contextlib.suppress(OSError):
                self._send("GET", "/status")
                break
            time.sleep(0.1)
        answer = self._send("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        return f"/session/{answer['sessionId']}"

    def _send(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data, {"Content-Type": "application/json"})
        request.method = method
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=60) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def _ask(self, path: str, body: Any = None) -> Any:
        return self._send("GET" if body is None else "POST", self._session + path, body)

    def close(self) -> None:
        """Close the window and the driver."""
        with contextlib.suppress(OSError, RuntimeError):
            self._send("DELETE", self._session)
        self._process.terminate()
        self._process.wait(10)

    def open(self, url: str) -> None:
        """Go to a page. A URL that differs in its fragment alone is loaded anew, too."""
        self._ask("/url", {"url": "about:blank"})
        self._ask("/url", {"url": url})

    @property
    def url(self) -> str:
        """The address of the page."""
        return str(self._ask("/url"))

    def run(self, script: str, *arguments: Any) -> Any:
        """The value of a function's body in the page."""
        return self._ask("/execute/sync", {"script": script, "args": list(arguments)})

    def text(self, selector: str) -> str:
        """The text of the first element that fits, as the page holds it."""
        return str(self.run("return document.querySelector(arguments[0]).textContent", selector))

    def click(self, selector: str) -> None:
        """Click the first element that fits."""
        self._ask(f"/element/{self._find(selector)}/click", {})

    def type(self, selector: str, text: str) -> None:
        """Type into an element."""
        self._ask(f"/element/{self._find(selector)}/value", {"text": text})

    def press(self, *keys: str) -> None:
        """Press keys, wherever the focus is."""
        steps = [{"type": kind, "value": KEYS[key]} for key in keys for kind in ("keyDown", "keyUp")]
        self._ask("/actions", {"actions": [{"type": "key", "id": "keys", "actions": steps}]})

    def _find(self, selector: str) -> str:
        return str(self._ask("/element", {"using": "css selector", "value": selector})[_ELEMENT])

    def wait(self, script: str, *arguments: Any, timeout_s: float = 10) -> Any:
        """Until the function's body gives something true, and that."""
        end = time.monotonic() + timeout_s
        while not (value := self.run(script, *arguments)):
            if time.monotonic() > end:
                raise TimeoutError(f"never true: {script}")
            time.sleep(0.05)
        return value

    def logs(self, kind: str) -> list[dict[str, Any]]:
        """What was logged since the last call: "browser" (the console) or "performance"."""
        return list(self._ask("/se/log", {"type": kind}))

    def requests(self) -> list[str]:
        """The addresses that the page asked for since the last call."""
        messages = [json.loads(entry["message"])["message"] for entry in self.logs("performance")]
        return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]

    def emulate(self, width: int, height: int, scheme: str, *, motion: str = "reduce") -> None:
        """Set the window's size in CSS pixels, light or dark colours, and "reduce" or "no-preference" for motion."""
        self._command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        features = {"prefers-color-scheme": scheme, "prefers-reduced-motion": motion}
        self._command(
            "Emulation.setEmulatedMedia",
            features=[{"name": name, "value": value} for name, value in features.items()],
        )

    def _command(self, name: str, **parameters: Any) -> Any:
        return self._ask("/goog/cdp/execute", {"cmd": name, "params": parameters})

    def screenshot(self, path: Path) -> None:
        """What the window shows, as PNG."""
        path.write_bytes(base64.b64decode(self._ask("/screenshot")))

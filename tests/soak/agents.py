"""What clients do to a server in a soak: agents' requests, bad ones, and clients that are slow, leave or die."""

from __future__ import annotations

import http.client
import json
import random
import socket
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import jsonschema

__all__ = ["ACTIONS", "Client", "Wrong"]

WORDS = ["Look up the weather in Paris.", "Read main.py and fix it.", "ok", "Ünïcode 日本 🙂", "x" * 300]
TOOL = {
    "name": "read_file",
    "description": "Reads a file.",
    "parameters": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "lines": {"type": "integer", "minimum": 1}},
        "required": ["path"],
    },
}
TOOLS = [TOOL, {"name": "now", "parameters": {"type": "object", "properties": {}}}]
SCHEMAS: list[dict[str, Any]] = [
    {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]},
    {"type": "object", "properties": {"kind": {"enum": ["a", "b"]}, "n": {"type": "integer", "maximum": 9}}},
    {"type": "array", "items": {"const": 1}, "maxItems": 3},
    {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/node"}],
     "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}}},
]  # fmt: skip
PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}
ENDS = {
    "chat": (b"data: [DONE]",),
    "messages": (b"event: message_stop", b"event: error"),
    "responses": (b"event: response.completed", b"event: response.incomplete", b"event: response.failed"),
}


class Wrong(AssertionError):
    """The server answered what it must not."""


class Client:
    """One client, which does one thing after another.

    Args:
        port: The server's, on 127.0.0.1.
        counts: How often each thing was done, and each status.
    """

    def __init__(self, port: int, rng: random.Random, counts: Counter[str]) -> None:
        self._port, self._rng, self._counts = port, rng, counts

    def act(self) -> None:
        """Do one thing, at random.

        Raises:
            Wrong: The answer is not what a client may get.
            OSError: The server is not there.
        """
        names, weights = zip(*((name, weight) for name, (weight, _) in ACTIONS.items()), strict=True)
        (name,) = self._rng.choices(names, weights)
        ACTIONS[name][1](self)
        self._counts[name] += 1

    # Requests.

    def _conversation(self, wire: str) -> list[dict[str, Any]]:
        """A question; or an agent's later step, with calls and their results."""
        messages: list[dict[str, Any]] = [{"role": "user", "content": self._rng.choice(WORDS)}]
        if wire == "chat" and self._rng.random() < 0.4:
            for number in range(self._rng.randint(1, 4)):
                call = {"id": f"c{number}", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a.py"}'}}  # fmt: skip
                messages += [
                    {"role": "assistant", "content": "", "tool_calls": [call]},
                    {"role": "tool", "tool_call_id": f"c{number}", "content": self._rng.choice(WORDS)},
                ]
        return messages

    def _body(self, wire: str) -> dict[str, Any]:
        rng, size = self._rng, self._rng.choice([8, 24, 64])
        body: dict[str, Any] = {"model": "m", "stream": rng.random() < 0.5}
        body[{"chat": "max_tokens", "messages": "max_tokens"}.get(wire, "max_output_tokens")] = size
        body["input" if wire == "responses" else "messages"] = self._conversation(wire)
        if rng.random() < 0.5:
            body |= {"temperature": 1.0, "top_p": 0.9}
        if rng.random() < 0.5:
            body["tools"] = [_tool(wire, tool) for tool in TOOLS]
            if rng.random() < 0.5:
                required = {"type": "any"} if wire == "messages" else "required"
                body["tool_choice"] = required
        return body

    def _schema_body(self, schema: Any, size: int) -> dict[str, Any]:
        format = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
        question = {"messages": self._conversation("chat"), "response_format": format}
        return {"model": "m", "max_tokens": size, **question}

    def _ask(self) -> None:
        wire = self._rng.choice(list(PATHS))
        body = self._body(wire)
        status, answer = self._send(PATHS[wire], body)
        if status != 200:
            if status in (400, 422, 429):
                return
            raise Wrong(f"{status} to {body}: {answer[:500]!r}")
        if body["stream"]:
            if not any(end in answer for end in ENDS[wire]):
                raise Wrong(f"a stream without its end, to {body}: {answer[-500:]!r}")
        else:
            json.loads(answer)

    def _ask_for_schema(self) -> None:
        schema = self._rng.choice(SCHEMAS)
        status, answer = self._send(PATHS["chat"], self._schema_body(schema, 200))
        if status == 429:
            return
        if status != 200:
            raise Wrong(f"{status} to the schema {schema}: {answer[:500]!r}")
        (choice,) = json.loads(answer)["choices"]
        if choice["finish_reason"] == "stop":
            jsonschema.validate(json.loads(choice["message"]["content"]), schema)

    def _ask_for_hard_schema(self) -> None:
        """Most are refused; some are large, but not too large."""
        count = self._rng.choice([300, 4_000, 20_000])
        properties = {f"k{number}": {"type": "string"} for number in range(count)}
        schema: Any = self._rng.choice([
            {"type": "object", "properties": properties, "required": list(properties)},
            {"enum": [f"value {number}" for number in range(count)]},
            {"type": "object", "properties": {"a": {"type": 7}}},
            {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
        ])  # fmt: skip
        self._expect(PATHS["chat"], self._schema_body(schema, 8), {200, 400, 422, 429})

    def _ask_badly(self) -> None:
        body = self._rng.choice([
            {}, {"model": "m"}, {"model": "none", "messages": []}, {"model": "m", "messages": "x"},
            {"model": "m", "messages": [{"role": "user", "content": "x"}], "max_tokens": -1},
            {"model": "m", "messages": [{"role": "user", "content": "x" * 5000}]},
        ])  # fmt: skip
        self._expect(PATHS[self._rng.choice(list(PATHS))], body, {400, 404, 422, 429})

    def _count(self) -> None:
        body = {"model": "m", "messages": self._conversation("chat")}
        self._expect("/tokenize", body, {200, 429})

    def _look(self) -> None:
        path = self._rng.choice(["/health", "/metrics", "/metrics.json", "/v1/models", "/", "/nothing"])
        connection = self._connect()
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        connection.close()
        if response.status not in (200, 404):
            raise Wrong(f"{response.status} to GET {path}")

    # Clients that are slow, leave or die.

    def _leave(self) -> None:
        """Read a little of a stream, and close."""
        with self._open({**self._body("chat"), "stream": True, "max_tokens": 200}) as connection:
            for _ in range(self._rng.randint(0, 3)):
                if not connection.recv(200):
                    break

    def _read_slowly(self) -> None:
        with self._open({**self._body("chat"), "stream": True}) as connection:
            while connection.recv(400):
                time.sleep(0.02)

    def _die(self) -> None:
        """Reset the connection, so that the server's next write fails."""
        connection = self._open({**self._body("chat"), "stream": True, "max_tokens": 200})
        connection.recv(50)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.close()

    def _send_half(self) -> None:
        raw = self._raw(self._body("chat"))
        with socket.create_connection(("127.0.0.1", self._port), 30) as connection:
            connection.sendall(raw[: self._rng.randint(1, len(raw) - 1)])
            if self._rng.random() < 0.2:  # it waits for the server's deadline
                connection.recv(1000)

    # Their means.

    def _connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)

    def _send(self, path: str, body: Any) -> tuple[int, bytes]:
        connection = self._connect()
        try:
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            answer = response.read()
        finally:
            connection.close()
        self._counts[f"status {response.status}"] += 1
        return response.status, answer

    def _expect(self, path: str, body: Any, statuses: set[int]) -> None:
        status, answer = self._send(path, body)
        if status not in statuses:
            raise Wrong(f"{status} to {str(body)[:500]}: {answer[:500]!r}")

    def _raw(self, body: Any) -> bytes:
        text = json.dumps(body).encode()
        head = (
            f"POST {PATHS['chat']} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nContent-Type: application/json\r\n"
            f"Connection: close\r\nContent-Length: {len(text)}\r\n\r\n"
        )
        return head.encode() + text

    def _open(self, body: Any) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self._port), 60)
        connection.sendall(self._raw(body))
        return connection


def _tool(wire: str, tool: dict[str, Any]) -> dict[str, Any]:
    if wire == "messages":
        return {"name": tool["name"], "input_schema": tool["parameters"]}
    return {"type": "function", "function": tool} if wire == "chat" else {"type": "function", **tool}


#: By name: how often it is chosen, and what is done.
ACTIONS: dict[str, tuple[int, Callable[[Client], None]]] = {
    "asks": (40, Client._ask),
    "asks for a schema": (10, Client._ask_for_schema),
    "asks for a hard schema": (2, Client._ask_for_hard_schema),
    "asks badly": (8, Client._ask_badly),
    "counts tokens": (5, Client._count),
    "looks": (5, Client._look),
    "leaves": (12, Client._leave),
    "reads slowly": (5, Client._read_slowly),
    "dies": (8, Client._die),
    "sends half": (5, Client._send_half),
}

"""Clients of the MCP server: one in this process that sees every message, one over a real process's pipes."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hikidashi.serve.mcp import inert
from hikidashi.serve.mcp_session import Session
from tests.support.commands import ROOT

__all__ = ["MODERN", "Client", "Process", "modern"]

MODERN = "2026-07-28"
_PREFIX = "io.modelcontextprotocol/"


def modern(params: dict[str, Any] | None = None, *, asks: bool = False, version: str = MODERN) -> dict[str, Any]:
    """`params` as a client of the second era sends them."""
    abilities: dict[str, Any] = {"elicitation": {"form": {}}} if asks else {}
    meta = {f"{_PREFIX}protocolVersion": version, f"{_PREFIX}clientCapabilities": abilities}
    return (params or {}) | {"_meta": meta}


@dataclass
class Client:
    """Talks to a server in this process. `later=True` keeps work waiting until `work()`."""

    folder: Path
    asks: bool = False
    later: bool = False
    sent: list[dict[str, Any]] = field(default_factory=list)
    jobs: list[Callable[[], None]] = field(default_factory=list)
    _number: int = 0

    def __post_init__(self) -> None:
        self.session = Session(
            self.sent.append, self._submit, folder=self.folder, inert=inert, session_id="session-of-the-test"
        )

    def _submit(self, job: Callable[[], None]) -> None:
        if self.later:
            self.jobs.append(job)
        else:
            job()

    def work(self) -> None:
        """Do what waits."""
        while self.jobs:
            self.jobs.pop(0)()

    def start(self, version: str = "2025-11-25", abilities: dict[str, Any] | None = None) -> dict[str, Any]:
        """Shake hands."""
        if abilities is None:
            abilities = {"elicitation": {}} if self.asks else {}
        params = {"protocolVersion": version, "capabilities": abilities, "clientInfo": {"name": "t", "version": "1"}}
        result: dict[str, Any] = self.request("initialize", params)["result"]
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result

    def say(self, message: object) -> list[dict[str, Any]]:
        """Send a message (or bytes, as they are); gives what came back."""
        before = len(self.sent)
        self.session.take(message if isinstance(message, bytes) else json.dumps(message).encode())
        return self.sent[before:]

    def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request; gives the one message that came back."""
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method}
        (answer,) = self.say(message if params is None else message | {"params": params})
        return answer

    def call(self, tool: str, *, params: dict[str, Any] | None = None, **arguments: Any) -> dict[str, Any]:
        """Call a tool; gives its result (or the request that came instead of one)."""
        answer = self.request("tools/call", {"name": tool, "arguments": arguments} | (params or {}))
        result: dict[str, Any] = answer.get("result", answer)
        return result

    def read(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that works; gives what it found."""
        result = self.call(tool, **arguments)
        assert not result.get("isError"), result
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        found: dict[str, Any] = result["structuredContent"]
        return found


class Process:
    """The server as a host starts it."""

    def __init__(self, folder: Path, *options: str, **environ: str) -> None:
        self.child = subprocess.Popen(
            [sys.executable, "-m", "hikidashi", *options, "mcp"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), **environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._buffer = b""

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait(10)
        for stream in (self.child.stdin, self.child.stdout, self.child.stderr):
            assert stream is not None
            stream.close()

    def send(self, *messages: object) -> None:
        """Send messages; bytes as they are."""
        assert self.child.stdin is not None
        for message in messages:
            self.child.stdin.write(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")
        self.child.stdin.flush()

    def receive(self, count: int = 1, *, seconds: float = 30) -> list[dict[str, Any]]:
        """The next messages."""
        assert self.child.stdout is not None
        deadline = time.monotonic() + seconds
        found: list[dict[str, Any]] = []
        while len(found) < count:
            line, newline, rest = self._buffer.partition(b"\n")
            if newline:
                self._buffer = rest
                found.append(json.loads(line))
                continue
            left = deadline - time.monotonic()
            assert left > 0 and select.select([self.child.stdout], [], [], left)[0], f"no answer; so far {found}"
            chunk = os.read(self.child.stdout.fileno(), 65536)
            assert chunk, f"the server ended: {self.child.stderr.read().decode() if self.child.stderr else ''}"
            self._buffer += chunk
        return found

    def end(self, *, seconds: float = 20) -> tuple[int, list[dict[str, Any]], str]:
        """Close the pipe: exit code, what still came, standard error."""
        out, err = self.child.communicate(timeout=seconds)
        return self.child.returncode, [json.loads(line) for line in (self._buffer + out).splitlines()], err.decode()


def requests(methods: Iterable[tuple[str, dict[str, Any] | None]]) -> list[dict[str, Any]]:
    """Requests with the IDs 1, 2, …"""
    made = []
    for number, (method, params) in enumerate(methods, start=1):
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": number, "method": method}
        made.append(message if params is None else message | {"params": params})
    return made

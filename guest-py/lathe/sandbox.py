"""The real sandbox behind a test's host: a process of the `lathe` binary that runs the built component.

It does what the host does around a guest: rights, limits, fuel, deadlines. What lies behind the guest's imports stays with the
test, which the process asks for it. Both speak JSON, one message a line.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Optional

from . import wire
from .bridge import BridgeError
from .extension import HOOKS, hooks
from .types import CallContext, Json

if TYPE_CHECKING:
    from .testing import TestHost


class HookError(Exception):
    """What a hook raised in the sandbox, by its message."""


class Hooks:
    """Stands for the instance of a turn, which is in the sandbox: its hooks are all that can be reached."""

    def __init__(self, sandbox: Sandbox, host: TestHost) -> None:
        self._sandbox = sandbox
        self._host = host

    def __getattr__(self, name: str) -> Callable[[Any], Any]:
        if name not in HOOKS:
            raise AttributeError(f"of an extension in the sandbox only its hooks can be reached, not `{name}`")
        return partial(self._sandbox.hook, self._host, name)


_shared: Optional[Sandbox] = None


def shared() -> Optional[Sandbox]:
    """The sandbox of this process, if the environment names one: that is how `lathe test --sandbox` runs the same tests."""
    global _shared
    lathe, file = os.environ.get("LATHE_SANDBOX"), os.environ.get("LATHE_SANDBOX_FILE")
    if _shared is None and lathe and file:
        _shared = Sandbox(lathe, file)
    return _shared


class Sandbox:
    """The process, and for which host the component is loaded in it."""

    def __init__(self, lathe: str, file: str) -> None:
        self._file = file
        self._host: Optional[TestHost] = None
        self._loaded: Json = None
        # A guest's records and refused calls are told by the test; the log would tell them again.
        environment = {**os.environ, "LATHE_LOG": "off"}
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([lathe, "sandbox"], stdin=pipe, stdout=pipe, env=environment)
        atexit.register(self._end)

    def _end(self) -> None:
        # It has nothing to lose, and may be in the middle of a call.
        self._process.kill()
        self._process.communicate()

    def hook(self, host: TestHost, hook: str, shown: Any) -> Any:
        """Calls a hook. Raises a `HookError`."""
        # The host calls no other.
        if hook not in hooks(host.kind):
            return None
        order = {"hook": {"hook": wire.word(hook), "snapshot": wire.snapshot(shown)}}
        answer = self._call(host, order, f"hook {hook}")
        if "Err" in answer:
            raise HookError(answer["Err"])
        return wire.answer(hook, answer["Ok"])

    def tool(self, host: TestHost, name: str, input: str) -> Json:
        """Calls a tool with JSON text both ways. The answer is the contract's `result`."""
        order = {"tool": {"name": name, "input": input, "context": asdict(CallContext())}}
        return self._call(host, order, f'tool "{name}"')

    def _load(self, host: TestHost) -> str:
        """Loads the component, unless it is loaded for this host as it is now. Returns its name."""
        name = host.kind.name or Path(self._file).stem
        granted = wire.permissions(host.kind.permissions)
        load = {"file": self._file, "name": name, "settings": host.settings, "granted": granted, "workspace": None}
        order = json.dumps({"load": load})
        if self._host is not host or self._loaded != order:
            self._loaded = None
            self._send(order)
            report = self._report()
            if report != "ready":
                raise RuntimeError(f'the host does not load the extension "{name}": {report["refused"]}')
            self._host, self._loaded = host, order
        return name

    def _call(self, host: TestHost, order: Json, what: str) -> Json:
        """Sends an order, and serves the guest until it has answered."""
        name = self._load(host)
        before = len(host.log)
        self._send(json.dumps(order))
        while True:
            [(kind, value)] = self._report().items()
            if kind == "answer":
                return value
            if kind == "called" and value["function"] == "log.log":
                level, message = value["arguments"]
                host.log.append((level, message))
            if kind == "ask":
                self._send(json.dumps(_served(host.double, value)))
            if kind == "failed":
                said = [f"\n  log {level}: {message}" for level, message in host.log[before:]]
                where = [f"\n  at {function}" for function in value["backtrace"]]
                text = f'the extension "{name}" failed in its {what}: {value["error"]}'
                raise RuntimeError("".join([text, *said, *where]))

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()

    def _report(self) -> Json:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the sandbox is gone; its words are above")
        return json.loads(line)


def _stored(value: Optional[bytes]) -> Json:
    return None if value is None else list(value)


_ASKED: dict[str, Callable[..., Json]] = {
    "storage-get": lambda host, key: _stored(host.get(key)),
    "storage-set": lambda host, key, value, limit: host.set(key, bytes(value), limit),
    "storage-delete": lambda host, key: host.delete(key),
    "storage-keys": lambda host, prefix: host.keys(prefix),
    "storage-increment": lambda host, key, delta, limit: host.increment(key, delta, limit),
    "context-get": lambda host, label: host.context(label),
    "context-set": lambda host, label, text, create: host.set_context(label, text, create),
    "messages": lambda host, limit: [asdict(message) for message in host.recent(limit)],
    "message-count": lambda host: host.info().message_count,
    "send-message": lambda host, text: host.send_message(text),
}


def _served(double: Any, ask: Json) -> Json:
    [(name, about)] = [(ask, {})] if isinstance(ask, str) else ask.items()
    if name not in _ASKED:
        return {"Err": {"Failed": f"a test has nothing for {name}"}}
    try:
        return {"Ok": _ASKED[name](double, **about)}
    except BridgeError as error:
        return {"Err": {wire.word(error.code): error.text}}

"""A host for `unittest` and `pytest`, which runs the extension in the test's own process. It checks no permissions, no limits
and no schemas.

With `lathe test --sandbox` the same tests run the extension's component in the host's sandbox, with everything granted that it
asks for; what is held stays here. A call that breaks a limit fails the test there, and so do settings that do not fit. What a
hook raises is a `HookError` there. One host at a time has a turn: a call by another one ends it.
"""

from __future__ import annotations

import json
from typing import Any, Optional, cast

from . import bridge, extension, wire
from .extension import Extension, InvalidInput
from .sandbox import HookError, Hooks, shared
from .types import CallContext, Json, Message, SessionInfo

__all__ = ["HookError", "TestHost", "ToolError"]


class ToolError(Exception):
    """A tool call that gave no output. `kind` is `unknown-tool`, `invalid-input` or `failed`."""

    def __init__(self, kind: str, message: str = "no such tool") -> None:
        super().__init__(message)
        self.kind = kind


class TestHost:
    """What it holds for an extension, and what the extension did to it.

    Hooks are the extension's methods: `host.extension.before_turn(TurnSnapshot(system="…"))`.
    """

    __test__ = False  # pytest: it is no test, for all its name.

    def __init__(
        self,
        kind: type[Extension],
        *,
        settings: Optional[dict[str, Json]] = None,
        storage: Optional[dict[str, Json]] = None,
        context: Optional[dict[str, str]] = None,
        messages: Optional[list[tuple[str, str]]] = None,
    ) -> None:
        self.kind = kind
        self.log: list[tuple[str, str]] = []
        """Levels and texts."""
        self.sent: list[str] = []
        """What it added to the conversation."""
        self.settings = settings or {}
        self.context = context or {}
        self.messages = [Message(f"message-{n}", *message) for n, message in enumerate(messages or [])]
        self._storage = {key: json.dumps(value).encode() for key, value in (storage or {}).items()}
        self.double = _Double(self)
        """What answers the extension."""
        bridge.connect(self.double)
        self._sandbox = shared()
        self.extension = kind() if self._sandbox is None else cast(Extension, Hooks(self._sandbox, self))
        """The instance of a turn. In the sandbox, its hooks alone; `before_turn` begins a turn there, with a new instance."""

    @property
    def storage(self) -> dict[str, Json]:
        """What is stored, JSON values by key."""
        return {key: json.loads(value) for key, value in self._storage.items()}

    @property
    def hooks(self) -> list[str]:
        """The hooks that the extension gets."""
        return extension.hooks(self.kind)

    @property
    def tools(self) -> dict[str, extension.Tool]:
        """The tools that it offers, by name."""
        return extension.tools(self.kind)

    def call_tool(self, name: str, /, **input: Any) -> Json:
        """Calls a tool as the host does: in a fresh instance, with JSON text both ways. Raises a `ToolError`."""
        if self._sandbox is not None:
            answer = self._sandbox.tool(self, name, json.dumps(input))
            if "Ok" in answer:
                return json.loads(answer["Ok"])
            raise ToolError(*_refusal(answer["Err"]))
        if name not in self.tools:
            raise ToolError("unknown-tool")
        try:
            return json.loads(self.tools[name].call(self.kind(), json.dumps(input), CallContext()))
        except InvalidInput as error:
            raise ToolError("invalid-input", str(error)) from error
        except Exception as error:
            raise ToolError("failed", str(error) or type(error).__name__) from error


def _refusal(error: Json) -> tuple[str, ...]:
    """Kind and message of a tool's error in the contract."""
    if isinstance(error, str):
        return (wire.words(error),)
    [(kind, message)] = error.items()
    return wire.words(kind), message


class _Double:
    def __init__(self, host: TestHost) -> None:
        self._host = host

    def log(self, level: str, message: str) -> None:
        self._host.log.append((level, message))

    def settings(self) -> str:
        return json.dumps(self._host.settings)

    def get(self, key: str) -> Optional[bytes]:
        return self._host._storage.get(key)

    def set(self, key: str, value: bytes, limit: Optional[int] = None) -> None:
        if len(key.encode()) > 512:
            raise bridge.BridgeError("too-large", "a key has at most 512 bytes")
        self._store(key, value, limit)

    def _store(self, key: str, value: bytes, limit: Optional[int]) -> None:
        """In the sandbox there is a limit to all keys and values together."""
        entries = {**self._host._storage, key: value}
        if limit is not None and sum(len(key.encode()) + len(value) for key, value in entries.items()) > limit:
            raise bridge.BridgeError("too-large", f"keys and values may have {limit} bytes together")
        self._host._storage[key] = value

    def delete(self, key: str) -> bool:
        return self._host._storage.pop(key, None) is not None

    def keys(self, prefix: str) -> list[str]:
        return sorted(key for key in self._host._storage if key.startswith(prefix))

    def increment(self, key: str, delta: int, limit: Optional[int] = None) -> int:
        try:
            total = int(self._host._storage.get(key, b"0")) + delta
        except ValueError:
            raise bridge.BridgeError("failed", f"`{key}` holds no whole number") from None
        self._store(key, str(total).encode(), limit)
        return total

    def context(self, label: str) -> Optional[str]:
        return self._host.context.get(label)

    def set_context(self, label: str, text: str, create: bool = False) -> None:
        if not create and label not in self._host.context:
            raise bridge.BridgeError("not-found", f"no context block `{label}`")
        self._host.context[label] = text

    def recent(self, limit: int) -> list[Message]:
        return self._host.messages[-limit:] if limit > 0 else []

    def info(self) -> SessionInfo:
        return SessionInfo("test", len(self._host.messages))

    def send_message(self, text: str) -> None:
        self._host.sent.append(text)

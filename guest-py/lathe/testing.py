"""A host for `unittest` and `pytest`. It checks no permissions, no limits and no schemas, and it starts no sandbox."""

from __future__ import annotations

import json
from typing import Any, Optional

from . import bridge, extension
from .extension import Extension, InvalidInput
from .types import CallContext, Json, Message, SessionInfo


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
        bridge.connect(_Double(self))
        self.extension = kind()
        """The instance of a turn."""

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
        if name not in self.tools:
            raise ToolError("unknown-tool")
        try:
            return json.loads(self.tools[name].call(self.kind(), json.dumps(input), CallContext()))
        except InvalidInput as error:
            raise ToolError("invalid-input", str(error)) from error
        except Exception as error:
            raise ToolError("failed", str(error) or type(error).__name__) from error


class _Double:
    def __init__(self, host: TestHost) -> None:
        self._host = host

    def log(self, level: str, message: str) -> None:
        self._host.log.append((level, message))

    def settings(self) -> str:
        return json.dumps(self._host.settings)

    def get(self, key: str) -> Optional[bytes]:
        return self._host._storage.get(key)

    def set(self, key: str, value: bytes) -> None:
        if len(key.encode()) > 512:
            raise bridge.BridgeError("too-large", "a key has at most 512 bytes")
        self._host._storage[key] = value

    def delete(self, key: str) -> bool:
        return self._host._storage.pop(key, None) is not None

    def keys(self, prefix: str) -> list[str]:
        return sorted(key for key in self._host._storage if key.startswith(prefix))

    def increment(self, key: str, delta: int) -> int:
        try:
            total = int(self._host._storage.get(key, b"0")) + delta
        except ValueError:
            raise bridge.BridgeError("failed", f"`{key}` holds no whole number") from None
        self._host._storage[key] = str(total).encode()
        return total

    def context(self, label: str) -> Optional[str]:
        return self._host.context.get(label)

    def set_context(self, label: str, text: str) -> None:
        if label not in self._host.context:
            raise bridge.BridgeError("not-found", f"no context block `{label}`")
        self._host.context[label] = text

    def recent(self, limit: int) -> list[Message]:
        return self._host.messages[-limit:] if limit > 0 else []

    def info(self) -> SessionInfo:
        return SessionInfo("test", len(self._host.messages))

    def send_message(self, text: str) -> None:
        self._host.sent.append(text)

"""What an extension asks of the host."""

from __future__ import annotations

import json
from typing import Any, Optional, Protocol

from .types import Json, Message, SessionInfo


class BridgeError(Exception):
    """Why the host did not do what was asked.

    `code` is `denied`, `not-found`, `too-large`, `unavailable` or `failed`.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"{code.replace('-', ' ')}: {text}")
        self.code = code
        self.text = text


class Host(Protocol):
    """Who answers: the imports of the component, or the host of a test."""

    def log(self, level: str, message: str) -> None: ...
    def settings(self) -> str: ...
    def get(self, key: str) -> Optional[bytes]: ...
    def set(self, key: str, value: bytes) -> None: ...
    def delete(self, key: str) -> bool: ...
    def keys(self, prefix: str) -> list[str]: ...
    def increment(self, key: str, delta: int) -> int: ...
    def context(self, label: str) -> Optional[str]: ...
    def set_context(self, label: str, text: str) -> None: ...
    def recent(self, limit: int) -> list[Message]: ...
    def info(self) -> SessionInfo: ...
    def send_message(self, text: str) -> None: ...


_host: Optional[Host] = None


def connect(host: Host) -> None:
    """Says who answers from now on."""
    global _host
    _host = host


def _ask() -> Host:
    if _host is None:
        raise RuntimeError("there is no host: in a test, make a TestHost first")
    return _host


def settings() -> dict[str, Json]:
    """What the operator wrote for this extension; empty where nothing is set."""
    return json.loads(_ask().settings())


class log:
    """Lines for the operator."""

    @staticmethod
    def trace(message: object) -> None:
        _ask().log("trace", str(message))

    @staticmethod
    def debug(message: object) -> None:
        _ask().log("debug", str(message))

    @staticmethod
    def info(message: object) -> None:
        _ask().log("info", str(message))

    @staticmethod
    def warn(message: object) -> None:
        _ask().log("warn", str(message))

    @staticmethod
    def error(message: object) -> None:
        _ask().log("error", str(message))


class storage:
    """Values by key, kept for this extension alone, over turns, sessions, restarts and upgrades."""

    @staticmethod
    def get(key: str, default: Any = None) -> Json:
        """The JSON value, or the default if there is no such key."""
        value = _ask().get(key)
        return default if value is None else json.loads(value)

    @staticmethod
    def set(key: str, value: Json) -> None:
        """Stores a JSON value under a key of at most 512 bytes. Written when it returns."""
        _ask().set(key, json.dumps(value, ensure_ascii=False).encode())

    @staticmethod
    def get_bytes(key: str) -> Optional[bytes]:
        """None if there is no such key."""
        return _ask().get(key)

    @staticmethod
    def set_bytes(key: str, value: bytes) -> None:
        """As `set`, without JSON."""
        _ask().set(key, value)

    @staticmethod
    def delete(key: str) -> bool:
        """False if there was no such key."""
        return _ask().delete(key)

    @staticmethod
    def keys(prefix: str = "") -> list[str]:
        """The keys that start with the prefix, sorted."""
        return _ask().keys(prefix)

    @staticmethod
    def increment(key: str, delta: int = 1) -> int:
        """Adds to a whole number (a missing one counts as 0) in one step and returns the sum."""
        return _ask().increment(key, delta)


class context:
    """The context blocks of the system prompt, as far as the operator granted them."""

    @staticmethod
    def get(label: str) -> Optional[str]:
        """None if there is no such block."""
        return _ask().context(label)

    @staticmethod
    def set(label: str, text: str) -> None:
        """Replaces the text of a block."""
        _ask().set_context(label, text)


class messages:
    """The conversation, with the permission `messages`."""

    @staticmethod
    def recent(limit: int) -> list[Message]:
        """The last messages, oldest first; at most 1,000."""
        return _ask().recent(limit)


class session:
    """The session that the turn belongs to."""

    @staticmethod
    def info() -> SessionInfo:
        """With the permission `session_info`."""
        return _ask().info()

    @staticmethod
    def send_message(text: str) -> None:
        """Adds a user message to the history, with the permission `send_message`. It starts no turn."""
        _ask().send_message(text)

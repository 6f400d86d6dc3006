"""Write extensions for Lathe in Python.

    from lathe import Extension, TurnConfig, TurnSnapshot, storage, tool

    class Dice(Extension):
        \"\"\"Rolls dice and knows how often.\"\"\"

        def before_turn(self, turn: TurnSnapshot) -> TurnConfig:
            return TurnConfig(system=f"{turn.system}\\n\\nDice have six sides.")

        @tool(replay="safe")
        def rolls(self, plus: int = 0) -> int:
            \"\"\"How often dice were rolled.\"\"\"
            return storage.increment("rolls", 0) + plus

The hooks that are written are the hooks that it gets. A tool's schema are its type hints, its description is its
docstring. Nothing here needs the sandbox: under plain Python, the same code runs against `lathe.testing.TestHost`.
"""

from .bridge import BridgeError, context, log, messages, session, settings, storage
from .extension import Extension, InvalidInput, tool
from .types import (
    KEEP,
    Allow,
    Block,
    CallContext,
    ChatError,
    ChatResponse,
    Chunk,
    ContextBlock,
    ErrorInfo,
    Json,
    Message,
    Permissions,
    SessionInfo,
    StepConfig,
    StepFinish,
    StepSnapshot,
    Substitute,
    ToolCall,
    ToolChoice,
    ToolDecision,
    ToolOverride,
    ToolResult,
    TurnConfig,
    TurnSnapshot,
    Usage,
)

__all__ = [
    "KEEP",
    "Allow",
    "Block",
    "BridgeError",
    "CallContext",
    "ChatError",
    "ChatResponse",
    "Chunk",
    "ContextBlock",
    "ErrorInfo",
    "Extension",
    "InvalidInput",
    "Json",
    "Message",
    "Permissions",
    "SessionInfo",
    "StepConfig",
    "StepFinish",
    "StepSnapshot",
    "Substitute",
    "ToolCall",
    "ToolChoice",
    "ToolDecision",
    "ToolOverride",
    "ToolResult",
    "TurnConfig",
    "TurnSnapshot",
    "Usage",
    "context",
    "log",
    "messages",
    "session",
    "settings",
    "storage",
    "tool",
]

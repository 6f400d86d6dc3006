"""The one class to inherit from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Callable, ClassVar, Literal, Optional

from . import schema
from .types import (
    CallContext,
    ChatError,
    ChatResponse,
    Chunk,
    ContextBlock,
    Json,
    Permissions,
    StepConfig,
    StepFinish,
    StepSnapshot,
    ToolCall,
    ToolDecision,
    ToolOverride,
    ToolResult,
    TurnConfig,
    TurnSnapshot,
)

HOOKS = (
    "before_turn",
    "before_step",
    "before_tool_call",
    "after_tool_call",
    "on_step_finish",
    "on_chunk",
    "on_chat_response",
    "on_chat_error",
)


class InvalidInput(Exception):
    """The model should write another input: what a tool raises if its input does not fit, though it passed the schema."""


@dataclass(frozen=True)
class Tool:
    """A method that the model may call."""

    function: Callable[..., Any]
    name: str
    description: str
    input_schema: dict[str, Any]
    replay: str
    sequential: bool
    needs_approval: bool

    def call(self, extension: Extension, text: str, context: CallContext) -> str:
        """Runs it with JSON text both ways."""
        found, _, takes_context = schema.parameters(self.function)
        given = json.loads(text)
        missing = [name for name, part in found.items() if name not in given and part.default is part.empty]
        if missing:
            raise InvalidInput(f"missing: {', '.join(missing)}")
        known = {name: given[name] for name in found if name in given}
        if takes_context:
            known[takes_context] = context
        return json.dumps(self.function(extension, **known), ensure_ascii=False)


def tool(
    *,
    name: Optional[str] = None,
    description: Optional[str] = None,
    input_schema: Optional[dict[str, Any]] = None,
    replay: Literal["never", "safe"] = "never",
    sequential: bool = False,
    needs_approval: bool = False,
) -> Callable[[Callable[..., Json]], Callable[..., Json]]:
    """Makes a tool of a method. What it returns is what the model sees, as JSON; what it raises is the call's error.

    The description is the docstring, the schema comes from the type hints: `str`, `int`, `float`, `bool`, `list`,
    `dict`, `Literal`, `Optional`; text in an `Annotated` describes a parameter. A parameter of type `CallContext` is
    filled by the host.

    `replay="safe"` means that a call whose outcome is unknown after a crash may be made again; `sequential` that it must
    not run beside another tool call; `needs_approval` that a person has to approve each call.
    """

    def wrap(function: Callable[..., Json]) -> Callable[..., Json]:
        said = description or (function.__doc__ or "").strip()
        if not said:
            raise TypeError(f"the tool {function.__name__} has no docstring, which is its description for the model")
        function.__lathe_tool__ = Tool(  # type: ignore[attr-defined]
            function,
            name or function.__name__,
            said,
            input_schema or schema.of_input(function),
            replay,
            sequential,
            needs_approval,
        )
        return function

    return wrap


class Extension:
    """An extension: what it offers, and the hooks that it wants. All of it is optional.

    The object is one instance's state. The host makes an instance per turn for all the hooks and a fresh one per tool
    call: what should outlive it goes to `storage`. The top level of a module runs once, when the component is built.

    An error that a hook raises changes nothing in the turn, and the operator sees its text; where a hook was granted the
    right to decide, it blocks what the hook was asked about.
    """

    name: ClassVar[Optional[str]] = None
    """Of `a-z`, `0-9` and `-`. Default: the name in pyproject.toml."""
    version: ClassVar[Optional[str]] = None
    """Default: the version in pyproject.toml."""
    description: ClassVar[Optional[str]] = None
    """One sentence for people. Default: the docstring."""
    permissions: ClassVar[Permissions] = Permissions()
    """What it asks the operator for."""
    context_blocks: ClassVar[list[ContextBlock]] = []
    """Context blocks of its own."""
    settings_schema: ClassVar[Optional[dict[str, Any]]] = None
    """What `settings()` should return; the host checks what the operator wrote against it."""

    def before_turn(self, turn: TurnSnapshot) -> Optional[TurnConfig]:
        """Before the first model request. The one hook whose answer always counts."""

    def before_step(self, step: StepSnapshot) -> Optional[StepConfig]:
        """Before each model request. The answer counts with the grant `decide`."""

    def before_tool_call(self, call: ToolCall) -> Optional[ToolDecision]:
        """Before a tool runs. The answer counts with the grant `decide`; None is no opinion."""

    def after_tool_call(self, call: ToolResult) -> Optional[ToolOverride]:
        """After a tool call has its result. The answer counts with the grant `decide`."""

    def on_step_finish(self, step: StepFinish) -> None:
        """After each step, with its tool results known."""

    def on_chunk(self, chunks: list[Chunk]) -> None:
        """The stream as it goes by: what has gathered since the last call. Who is too slow misses chunks."""

    def on_chat_response(self, response: ChatResponse) -> None:
        """After the turn has ended and its answer is stored."""

    def on_chat_error(self, error: ChatError) -> None:
        """After a turn failed outside the model's stream."""


def hooks(kind: type[Extension]) -> list[str]:
    """The hooks that are written."""
    return [name for name in HOOKS if getattr(kind, name) is not getattr(Extension, name)]


def tools(kind: type[Extension]) -> dict[str, Tool]:
    """The tools, in the order in which they are written; those of a base class come first."""
    found = {}
    for base in reversed(kind.__mro__):
        for value in vars(base).values():
            if isinstance(made := getattr(value, "__lathe_tool__", None), Tool):
                found[made.name] = made
    return found

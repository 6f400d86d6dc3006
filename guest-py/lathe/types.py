"""What hooks are shown and may answer. Words are the AI SDK's: `tool-calls`, `text-delta`, `auto`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Optional, Union

Json = Any
"""A value with a JSON form."""


class _Keep:
    """Stands where None is a value of its own."""

    def __repr__(self) -> str:
        return "KEEP"


KEEP = _Keep()


@dataclass
class TurnSnapshot:
    """A turn that is about to start."""

    system: str = ""
    """The system text as it stands now: the built-in hooks and the extensions before this one have spoken."""
    tool_names: list[str] = field(default_factory=list)
    """The tools on offer, or the active ones once somebody chose."""
    message_count: int = 1
    max_steps: int = 10
    """The most steps that the turn may take, as it stands now."""
    continuation: bool = False
    """True if the turn goes on without a new user message."""
    body: Optional[dict[str, Json]] = None
    """Custom fields of the client's request."""
    model_id: str = "test"
    request_id: str = "request"
    trigger: str = "programmatic"
    """What made the turn start: `ws-chat`, `rpc`, `programmatic`, `submission`, `scheduled`, `agent-tool`,
    `auto-continuation`, `recovery-continue`, `recovery-retry`."""


@dataclass(frozen=True)
class ToolChoice:
    """How the model may use tools; with `tool`, this one must be called."""

    kind: Literal["auto", "none", "required", "tool"]
    tool_name: Optional[str] = None


@dataclass(kw_only=True)
class StepConfig:
    """What to change for one step. None leaves a field as it is."""

    system: Optional[str] = None
    messages: Optional[list[Json]] = None
    """The whole conversation as the model should see it: model messages with `role` and `content`."""
    active_tools: Optional[list[str]] = None
    """The only tools on offer."""
    tool_choice: Optional[ToolChoice] = None
    model: Optional[str] = None
    """`provider:name`. Counts with the permission `model`."""


@dataclass(kw_only=True)
class TurnConfig(StepConfig):
    """What to change for the turn. None leaves a field as it is; `reset` puts it back to the host's default."""

    max_steps: Optional[int] = None
    send_reasoning: Optional[bool] = None
    max_output_tokens: Optional[int] = None
    temperature: Optional[float] = None
    top_p: Optional[float] = None
    top_k: Optional[int] = None
    presence_penalty: Optional[float] = None
    frequency_penalty: Optional[float] = None
    stop_sequences: Optional[list[str]] = None
    seed: Optional[int] = None
    max_retries: Optional[int] = None
    timeout_ms: Optional[int] = None
    headers: dict[str, str] = field(default_factory=dict)
    """Added to the request."""
    provider_options: Optional[dict[str, dict[str, Json]]] = None
    reset: list[str] = field(default_factory=list)
    """Names of fields, as they are called here."""


@dataclass
class Usage:
    """Tokens, where the provider tells them."""

    input_tokens: Optional[int] = None
    output_tokens: Optional[int] = None
    total_tokens: Optional[int] = None
    reasoning_tokens: Optional[int] = None
    cached_input_tokens: Optional[int] = None


@dataclass
class StepSnapshot:
    """A model request that is about to be made."""

    request_id: str = "request"
    step_number: int = 0
    system: str = ""
    tool_names: list[str] = field(default_factory=list)
    message_count: int = 1
    model_id: str = "test"
    total_usage: Usage = field(default_factory=Usage)
    """Of the steps so far."""


@dataclass
class ToolCall:
    """A tool call that is about to run."""

    tool_call_id: str = "call"
    tool_name: str = "tool"
    input: Json = field(default_factory=dict)
    step_number: int = 0
    dynamic: bool = False
    """True for a tool that was registered at run time, such as one of an MCP server."""


@dataclass(frozen=True)
class Allow:
    """Run it; with an input, run it with that one."""

    input: Json = KEEP


@dataclass(frozen=True)
class Block:
    """Do not run it. The reason reaches the model only with the operator's leave."""

    reason: Optional[str] = None


@dataclass(frozen=True)
class Substitute:
    """Do not run it. The model sees this output."""

    output: Json


ToolDecision = Union[Allow, Block, Substitute]


@dataclass(frozen=True)
class ErrorInfo:
    """An error as an extension may see it."""

    name: str
    message: str


@dataclass
class ToolResult(ToolCall):
    """A tool call that has its result: an output, or an error."""

    duration_ms: float = 1.0
    outcome: str = "executed"
    """`executed`, `failed`, `blocked`, `substituted`, `invalid` or `cancelled`."""
    output: Json = None
    error: Optional[ErrorInfo] = None

    @property
    def success(self) -> bool:
        """Whether it has an output."""
        return self.error is None


@dataclass(kw_only=True)
class ToolOverride:
    """What to change of a result."""

    output: Json = KEEP
    is_error: Optional[bool] = None
    terminate: Optional[bool] = None
    """End the turn after this step, if every call of the step says so."""


@dataclass
class StepFinish:
    """A step that is over, its tool results included."""

    step_number: int = 0
    finish_reason: str = "stop"
    """`stop`, `length`, `content-filter`, `tool-calls`, `error` or `other`."""
    text: str = ""
    reasoning_text: str = ""
    tool_call_count: int = 0
    tool_result_count: int = 0
    usage: Usage = field(default_factory=Usage)
    provider_metadata: Optional[dict[str, Json]] = None


@dataclass
class Chunk:
    """A part of the stream."""

    type: str
    """The AI SDK's stream part types: `text-delta`, `tool-call`, …"""
    text: Optional[str] = None
    tool_name: Optional[str] = None
    tool_call_id: Optional[str] = None


@dataclass
class ChatResponse:
    """A turn that has ended, its answer stored."""

    request_id: str = "request"
    continuation: bool = False
    status: str = "completed"
    """`completed`, `error` or `aborted`."""
    error: Optional[str] = None
    text: str = ""
    """The answer's text, all steps together."""
    step_count: int = 1
    total_usage: Usage = field(default_factory=Usage)


@dataclass
class ChatError:
    """A turn that failed outside the model's stream."""

    request_id: Optional[str] = None
    stage: str = "turn"
    """`parse`, `persist`, `turn`, `stream`, `recovery` or `transcript`."""
    message: str = ""
    classification: Optional[str] = None
    """`context-overflow`, `rate-limit`, `transient`, `fatal` or `unknown`."""
    messages_persisted: bool = True
    """Whether the user's message was stored before it happened."""


@dataclass
class CallContext:
    """What a tool may know about its call."""

    tool_call_id: str = "call"
    """The host's id of this call, the same in the tool hooks."""
    request_id: str = "request"
    step_number: int = 0
    idempotency_key: str = "key"
    """The same for every attempt at this call: pass it on to services that know such keys."""


@dataclass(kw_only=True)
class Permissions:
    """What an extension asks the operator for."""

    workspace: Literal["none", "read", "read-write"] = "none"
    """Files below `/workspace`, by `open` and `pathlib`."""
    network: list[str] = field(default_factory=list)
    """Reserved: Python extensions have no way to the network yet."""
    context_read: list[str] = field(default_factory=list)
    """Labels of context blocks to read, or `all`."""
    context_write: list[str] = field(default_factory=list)
    """Labels of context blocks to write, or `own`."""
    messages: bool = False
    """Read the conversation."""
    send_message: bool = False
    """Add user messages to the conversation."""
    session_info: bool = False
    """Read facts about the session."""
    decide: list[str] = field(default_factory=list)
    """Hooks whose answer should count: `before_step`, `before_tool_call`, `after_tool_call`."""
    model: bool = False
    """Choose another model."""
    environment: list[str] = field(default_factory=list)
    """Environment variables of the host, by name."""
    storage_bytes: Optional[int] = None
    """More storage than the host gives to everyone."""


@dataclass
class ContextBlock:
    """A context block of the extension's own, offered as `<extension>_<label>`."""

    label: str
    description: Optional[str] = None
    max_tokens: Optional[int] = None


@dataclass
class Message:
    """A message of the conversation."""

    id: str
    role: str
    content: str


@dataclass
class SessionInfo:
    """The session that the turn belongs to."""

    name: str
    message_count: int

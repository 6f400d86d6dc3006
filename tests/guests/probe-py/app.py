"""The guest `probe` once more, in Python: what it is and does stands in its plan, which the harness writes into the file;
what it was shown it leaves in its storage."""

import json
from dataclasses import fields, is_dataclass
from functools import partialmethod
from typing import Any

from lathe import CallContext, Extension, extension, storage

import answer
from plan import plan


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


class Planned(type):
    """Known only when the plan is: nothing of it may be read before it is asked for."""

    name = property(lambda _: plan()["name"])
    version = property(lambda _: plan().get("version", "1.0.0"))
    description = property(lambda _: plan().get("description", plan()["name"]))


class Probe(Extension, metaclass=Planned):
    def _play(self, hook: str, shown: Any) -> Any:
        """Notes what the hook is shown, then does what the plan says."""
        note(hook, shown)
        behaviour = plan()["hooks"][hook]
        if isinstance(behaviour, list):
            # One entry a call, the last repeats. An instance lives for a turn, so the count is kept outside.
            call = storage.increment(f"calls/{hook}") - 1
            behaviour = behaviour[min(call, len(behaviour) - 1)]
        if isinstance(behaviour.get("throw"), str):
            raise ValueError(behaviour["throw"])
        answered = behaviour.get("return")
        if isinstance(more := behaviour.get("appendSystem"), str):
            answered = {**(answered if isinstance(answered, dict) else {}), "system": shown.system + more}
        return answer.of(hook, answered)


for hook in extension.HOOKS:
    setattr(Probe, hook, partialmethod(Probe._play, camel(hook)))


class PlannedTool(extension.Tool):
    """A tool of the plan."""

    def call(self, instance: Extension, text: str, context: CallContext) -> str:
        tool = plan()["tools"][self.name]
        if isinstance(tool.get("throw"), str):
            raise ValueError(tool["throw"])
        return text if tool.get("echo") is True else json.dumps(tool.get("result"))


def planned_tool(name: str, tool: dict[str, Any]) -> PlannedTool:
    schema = {
        "type": "object",
        "properties": tool.get("parameters", {}),
        "required": tool.get("required", []),
    }
    approval = tool.get("needsApproval", False)
    return PlannedTool(PlannedTool, name, tool.get("description", name), schema, "never", False, approval)


# What is written decides, elsewhere; here the plan does.
extension.hooks = lambda _: [name for name in extension.HOOKS if camel(name) in plan().get("hooks", {})]
extension.tools = lambda _: {name: planned_tool(name, tool) for name, tool in plan().get("tools", {}).items()}


def note(hook: str, shown: Any) -> None:
    """In Think's fields: what it leaves undefined is left out."""
    snapshot = noted(shown)
    if hook == "afterToolCall":
        snapshot["success"] = shown.success
        snapshot.pop("output", None)
        snapshot |= {"output": shown.output} if shown.success else {}
    if isinstance(snapshot, dict):
        snapshot = {name: value for name, value in snapshot.items() if (name, value) not in UNDEFINED}
    storage.set(f"note/{storage.increment('noted'):08}", {"hook": hook, "snapshot": snapshot})


UNDEFINED = [("dynamic", False), ("reasoningText", "")]


def noted(value: Any) -> Any:
    if isinstance(value, list):
        return [noted(entry) for entry in value]
    if not is_dataclass(value):
        return value
    given = {camel(field.name): getattr(value, field.name) for field in fields(value)}
    return {name: noted(field) for name, field in given.items() if field is not None}

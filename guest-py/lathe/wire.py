"""Between the author's records and the JSON in which the sandbox speaks: the contract's, with its words as `BeforeTurn`."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, fields
from typing import Any, Callable, Optional

from .types import (
    KEEP,
    Allow,
    Block,
    Json,
    Permissions,
    StepConfig,
    Substitute,
    ToolChoice,
    ToolDecision,
    ToolOverride,
    ToolResult,
    TurnConfig,
)

_WORDS = ("trigger", "outcome", "finish_reason", "type", "status", "stage", "classification")
_TEXTS = ("body", "provider_metadata", "messages", "provider_options")
"""What is JSON text in the contract, where it is not None."""


def word(text: str) -> str:
    """`before_turn` as `BeforeTurn`, and so `ws-chat`."""
    return "".join(part.capitalize() for part in re.split("[-_]", text))


def words(text: str) -> str:
    """`InvalidInput` as `invalid-input`."""
    return re.sub("(?<!^)([A-Z])", r"-\1", text).lower()


def snapshot(shown: Any) -> Json:
    """What a hook is shown, a record or a list of them."""
    if isinstance(shown, list):
        return [snapshot(chunk) for chunk in shown]
    record = asdict(shown)
    for name in _WORDS:
        if record.get(name) is not None:
            record[name] = word(record[name])
    for name in _TEXTS:
        if record.get(name) is not None:
            record[name] = json.dumps(record[name])
    if "input" in record:
        record["input"] = json.dumps(record["input"])
    if isinstance(shown, ToolResult):
        output, error = record.pop("output"), record.pop("error")
        record["result"] = {"Ok": json.dumps(output)} if error is None else {"Err": error}
    if "type" in record:
        record["type_"] = record.pop("type")
    return record


def permissions(asked: Permissions) -> Json:
    """What an extension asks for."""
    decide = [word(hook) for hook in asked.decide]
    return {**asdict(asked), "workspace": word(asked.workspace), "decide": decide}


def _config(kind: type) -> Callable[[Json], Any]:
    def read(answer: Json) -> Any:
        given = {field.name: answer[field.name] for field in fields(kind)}
        for name in _TEXTS:
            if given.get(name) is not None:
                given[name] = json.loads(given[name])
        match given["tool_choice"]:
            case str(choice):
                given["tool_choice"] = ToolChoice(choice.lower())  # type: ignore[arg-type]
            case {"Tool": str(tool)}:
                given["tool_choice"] = ToolChoice("tool", tool)
        if kind is TurnConfig:
            given["headers"] = dict(given["headers"])
            given["reset"] = [re.sub("([A-Z])", r"_\1", name).lower() for name in given["reset"]]
        return kind(**given)

    return read


def _decision(answer: Json) -> ToolDecision:
    [(kind, value)] = answer.items()
    if kind == "Block":
        return Block(value)
    if kind == "Substitute":
        return Substitute(json.loads(value))
    return Allow(KEEP if value is None else json.loads(value))


def _override(answer: Json) -> ToolOverride:
    output = KEEP if answer["output"] is None else json.loads(answer["output"])
    return ToolOverride(output=output, is_error=answer["is_error"], terminate=answer["terminate"])


_ANSWERS: dict[str, Callable[[Json], Any]] = {
    "before_turn": _config(TurnConfig),
    "before_step": _config(StepConfig),
    "before_tool_call": _decision,
    "after_tool_call": _override,
}


def answer(hook: str, answered: Json) -> Optional[Any]:
    """What a hook has answered."""
    return None if answered is None else _ANSWERS[hook](answered)

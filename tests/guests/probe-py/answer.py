"""From an answer in Think's form to the author's. What has the wrong type, or no place in the contract, is left out."""

from typing import Any, Callable, Optional

from lathe import KEEP, Allow, Block, StepConfig, Substitute, ToolChoice, ToolOverride, TurnConfig

Check = Callable[[Any], bool]


def kind(*types: type) -> Check:
    return lambda value: isinstance(value, types) and (bool in types or not isinstance(value, bool))


def count(value: Any) -> bool:
    return kind(int)(value) and value >= 0


def texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


STEP: dict[str, Check] = {
    "system": kind(str),
    "messages": kind(list),
    "activeTools": texts,
    "toolChoice": lambda value: choice(value) is not None,
    "model": kind(str),
}

TURN: dict[str, Check] = {
    **STEP,
    "maxSteps": count,
    "sendReasoning": kind(bool),
    "maxOutputTokens": count,
    "temperature": kind(float, int),
    "topP": kind(float, int),
    "topK": count,
    "presencePenalty": kind(float, int),
    "frequencyPenalty": kind(float, int),
    "stopSequences": texts,
    "seed": kind(int),
    "maxRetries": count,
    "timeoutMs": count,
    "headers": kind(dict),
    "providerOptions": kind(dict),
}


def choice(value: Any) -> Optional[ToolChoice]:
    word = value.get("type") if isinstance(value, dict) else value
    if word in ("auto", "none", "required"):
        return ToolChoice(word)
    if word == "tool" and isinstance(value, dict) and isinstance(value.get("toolName"), str):
        return ToolChoice("tool", value["toolName"])
    return None


def snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def fitting(answer: dict[str, Any], checks: dict[str, Check]) -> dict[str, Any]:
    fits = {snake(name): value for name, value in answer.items() if name in checks and checks[name](value)}
    if "tool_choice" in fits:
        fits["tool_choice"] = choice(fits["tool_choice"])
    return fits


def of(hook: str, answer: Any) -> Any:
    if not isinstance(answer, dict):
        return None
    match hook:
        case "beforeTurn":
            return turn(dict(answer))
        case "beforeStep":
            return StepConfig(**fitting(answer, STEP))
        case "beforeToolCall":
            return decision(answer)
        case "afterToolCall":
            more = fitting(answer, {"isError": kind(bool), "terminate": kind(bool)})
            return ToolOverride(output=answer.get("output", KEEP), **more)
    return None


def turn(answer: dict[str, Any]) -> TurnConfig:
    timeout = answer.pop("timeout", KEEP)
    if timeout is not KEEP:
        answer["timeoutMs"] = timeout.get("totalMs") if isinstance(timeout, dict) else timeout
    fits = fitting(answer, TURN)
    if "headers" in fits:
        fits["headers"] = {name: value for name, value in fits["headers"].items() if isinstance(value, str)}
    return TurnConfig(**fits, reset=[snake(name) for name, value in answer.items() if value is None and name in TURN])


def decision(answer: dict[str, Any]) -> Any:
    match answer.get("action"):
        case "allow":
            return Allow(answer.get("input", KEEP))
        case "block":
            return Block(answer.get("reason") if isinstance(answer.get("reason"), str) else None)
        case "substitute":
            return Substitute(answer.get("output"))
    return None

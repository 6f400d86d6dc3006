"""From an extension to the exports of a component. Imported where the generated bindings are, by the built module alone."""

from __future__ import annotations

import json
from dataclasses import fields
from enum import Enum
from types import ModuleType
from typing import Any, Callable, Optional, TypeVar

from componentize_py_types import Err, Ok
from wit_world.exports import extension_manifest, hooks, tools
from wit_world.imports import bridge_error, context, log, messages, session, settings, storage, types

from . import bridge, extension, types as author
from .types import KEEP, Json

T = TypeVar("T")

_kind: type[extension.Extension]
_about: dict[str, Any]
_instance: Optional[extension.Extension] = None


def start(module: ModuleType, about: dict[str, Any]) -> None:
    """Takes the extension of the module, and what its pyproject.toml says for what it does not say itself."""
    global _kind, _about
    kinds = [
        kind
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, extension.Extension) and kind.__module__ == module.__name__
    ]
    if len(kinds) != 1:
        raise TypeError(f"{module.__name__}.py has to define one subclass of lathe.Extension; it defines {len(kinds)}")
    _kind, _about = kinds[0], about
    bridge.connect(_Host())


def _this() -> extension.Extension:
    global _instance
    if _instance is None:
        _instance = _kind()
    return _instance


# words and values


def _word(value: Enum) -> str:
    return value.name.lower().replace("_", "-")


def _enum(kind: type[Enum], word: str) -> Any:
    return kind[word.upper().replace("-", "_")]


def _json(text: Optional[str]) -> Json:
    return None if text is None else json.loads(text)


def _text(value: Json) -> Optional[str]:
    return None if value is None else json.dumps(value, ensure_ascii=False)


def _shown(given: Any, kind: type[T], **more: Any) -> T:
    """The author's record: the fields that it shares with the contract's, words for enums, and what is given besides."""
    for field in fields(kind):  # type: ignore[arg-type]
        if field.name not in more and hasattr(given, field.name):
            value = getattr(given, field.name)
            if isinstance(value, Enum):
                value = _word(value)
            elif isinstance(value, types.Usage):
                value = _shown(value, author.Usage)
            more[field.name] = value
    return kind(**more)


def _choice(choice: Optional[author.ToolChoice]) -> Any:
    match choice:
        case None:
            return None
        case author.ToolChoice("auto"):
            return types.ToolChoice_Auto()
        case author.ToolChoice("none"):
            return types.ToolChoice_None_()
        case author.ToolChoice("required"):
            return types.ToolChoice_Required()
        case author.ToolChoice("tool", str(name)):
            return types.ToolChoice_Tool(name)
    raise TypeError(f"{choice} is no tool choice")


_CHECKS: dict[str, tuple[type, ...]] = {
    "Optional[str]": (str,),
    "Optional[bool]": (bool,),
    "Optional[int]": (int,),
    "Optional[float]": (float, int),
    "Optional[list[str]]": (list,),
    "Optional[list[Json]]": (list,),
}


def _checked(answer: Any, kind: type) -> Any:
    """What has the wrong type would be a trap on its way out; here it is an error with the field's name."""
    if not isinstance(answer, kind):
        raise TypeError(f"the answer is a {type(answer).__name__}, not a {kind.__name__}")
    for field in fields(kind):
        value, allowed = getattr(answer, field.name), _CHECKS.get(str(field.type))
        if value is None or value is KEEP or allowed is None:
            continue
        if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
            raise TypeError(f"{field.name} is a {type(value).__name__}")
        if str(field.type) == "Optional[list[str]]" and not all(isinstance(entry, str) for entry in value):
            raise TypeError(f"an entry of {field.name} is no str")
    return answer


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


# exports


class ExtensionManifest:
    def describe(self) -> extension_manifest.Manifest:
        asked = _kind.permissions
        name = _kind.name or _about["name"]
        schema = _kind.settings_schema
        said = _kind.description or (_kind.__doc__ or "").strip() or _about.get("description") or name
        return extension_manifest.Manifest(
            name=name,
            version=_kind.version or _about.get("version", "0.0.0"),
            description=said,
            hooks=[_enum(types.Hook, hook) for hook in extension.hooks(_kind)],
            tools=[
                extension_manifest.ToolDefinition(
                    name=tool.name,
                    description=tool.description,
                    input_schema=json.dumps(tool.input_schema, ensure_ascii=False),
                    replay=_enum(extension_manifest.Replay, tool.replay),
                    sequential=tool.sequential,
                    needs_approval=tool.needs_approval,
                )
                for tool in extension.tools(_kind).values()
            ],
            permissions=extension_manifest.Permissions(
                workspace=_enum(extension_manifest.WorkspaceAccess, asked.workspace),
                network=asked.network,
                context_read=asked.context_read,
                context_write=asked.context_write,
                messages=asked.messages,
                send_message=asked.send_message,
                session_info=asked.session_info,
                decide=[_enum(types.Hook, hook) for hook in asked.decide],
                model=asked.model,
                environment=asked.environment,
                storage_bytes=asked.storage_bytes,
            ),
            context=[_shown(block, extension_manifest.ContextBlock) for block in _kind.context_blocks],
            settings_schema=_text(schema),
        )


class Tools:
    def call(self, name: str, input: str, context: tools.CallContext) -> str:
        tool = extension.tools(_kind).get(name)
        if tool is None:
            raise Err(tools.ToolError_UnknownTool())
        try:
            return tool.call(_this(), input, _shown(context, author.CallContext))
        except extension.InvalidInput as error:
            raise Err(tools.ToolError_InvalidInput(_said(error))) from error
        except Exception as error:
            raise Err(tools.ToolError_Failed(_said(error))) from error


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__


def _hook(run: Callable[[], T]) -> T:
    try:
        return run()
    except Exception as error:
        raise Err(_said(error)) from error


class Hooks:
    def before_turn(self, snapshot: hooks.TurnSnapshot) -> Optional[hooks.TurnConfig]:
        return _hook(lambda: _turn_config(_this().before_turn(_turn(snapshot))))

    def before_step(self, snapshot: hooks.StepSnapshot) -> Optional[hooks.StepConfig]:
        return _hook(lambda: _step_config(_this().before_step(_shown(snapshot, author.StepSnapshot))))

    def before_tool_call(self, snapshot: hooks.ToolCallSnapshot) -> Optional[hooks.ToolDecision]:
        return _hook(lambda: _decision(_this().before_tool_call(_call(snapshot))))

    def after_tool_call(self, snapshot: hooks.ToolResultSnapshot) -> Optional[hooks.ToolOverride]:
        return _hook(lambda: _override(_this().after_tool_call(_result(snapshot))))

    def on_step_finish(self, snapshot: hooks.StepFinishSnapshot) -> None:
        _hook(lambda: _this().on_step_finish(_step_finish(snapshot)))

    def on_chunk(self, chunks: list[hooks.Chunk]) -> None:
        _hook(lambda: _this().on_chunk([_shown(chunk, author.Chunk) for chunk in chunks]))

    def on_chat_response(self, snapshot: hooks.ChatResponseSnapshot) -> None:
        _hook(lambda: _this().on_chat_response(_shown(snapshot, author.ChatResponse)))

    def on_chat_error(self, snapshot: hooks.ChatErrorSnapshot) -> None:
        _hook(lambda: _this().on_chat_error(_shown(snapshot, author.ChatError)))


def _turn(given: hooks.TurnSnapshot) -> author.TurnSnapshot:
    return _shown(given, author.TurnSnapshot, body=_json(given.body))


def _call(given: hooks.ToolCallSnapshot) -> author.ToolCall:
    return _shown(given, author.ToolCall, input=_json(given.input))


def _result(given: hooks.ToolResultSnapshot) -> author.ToolResult:
    ended: dict[str, Any] = {}
    if isinstance(given.result, Ok):
        ended["output"] = _json(given.result.value)
    else:
        ended["error"] = author.ErrorInfo(given.result.value.name, given.result.value.message)
    return _shown(given, author.ToolResult, input=_json(given.input), **ended)


def _step_finish(given: hooks.StepFinishSnapshot) -> author.StepFinish:
    return _shown(given, author.StepFinish, provider_metadata=_json(given.provider_metadata))


def _turn_config(answer: Optional[author.TurnConfig]) -> Optional[hooks.TurnConfig]:
    if answer is None:
        return None
    config = _checked(answer, author.TurnConfig)
    more = {
        "messages": _text(config.messages),
        "tool_choice": _choice(config.tool_choice),
        "headers": list(config.headers.items()),
        "provider_options": _text(config.provider_options),
        "reset": [_camel(name) for name in config.reset],
    }
    return _shown(config, hooks.TurnConfig, **more)


def _step_config(answer: Optional[author.StepConfig]) -> Optional[hooks.StepConfig]:
    if answer is None:
        return None
    config = _checked(answer, author.StepConfig)
    more = {"messages": _text(config.messages), "tool_choice": _choice(config.tool_choice)}
    return _shown(config, hooks.StepConfig, **more)


def _decision(answer: Optional[author.ToolDecision]) -> Optional[hooks.ToolDecision]:
    match answer:
        case None:
            return None
        case author.Allow(input):
            return hooks.ToolDecision_Allow(None if input is KEEP else json.dumps(input, ensure_ascii=False))
        case author.Block(reason):
            return hooks.ToolDecision_Block(reason)
        case author.Substitute(output):
            return hooks.ToolDecision_Substitute(json.dumps(output, ensure_ascii=False))
    raise TypeError(f"the answer is a {type(answer).__name__}, not an Allow, a Block or a Substitute")


def _override(answer: Optional[author.ToolOverride]) -> Optional[hooks.ToolOverride]:
    if answer is None:
        return None
    change = _checked(answer, author.ToolOverride)
    output = None if change.output is KEEP else json.dumps(change.output, ensure_ascii=False)
    return hooks.ToolOverride(output=output, is_error=change.is_error, terminate=change.terminate)


# imports


def _asked(run: Callable[[], T]) -> T:
    try:
        return run()
    except Err as error:
        code = {
            bridge_error.Error_Denied: "denied",
            bridge_error.Error_NotFound: "not-found",
            bridge_error.Error_TooLarge: "too-large",
            bridge_error.Error_Unavailable: "unavailable",
        }.get(type(error.value), "failed")
        raise bridge.BridgeError(code, error.value.value) from None


class _Host:
    def log(self, level: str, message: str) -> None:
        log.log(_enum(log.Level, level), message)

    def settings(self) -> str:
        return settings.get()

    def get(self, key: str) -> Optional[bytes]:
        return _asked(lambda: storage.get(key))

    def set(self, key: str, value: bytes) -> None:
        _asked(lambda: storage.set(key, value))

    def delete(self, key: str) -> bool:
        return _asked(lambda: storage.delete(key))

    def keys(self, prefix: str) -> list[str]:
        return _asked(lambda: storage.keys(prefix))

    def increment(self, key: str, delta: int) -> int:
        return _asked(lambda: storage.increment(key, delta))

    def context(self, label: str) -> Optional[str]:
        return _asked(lambda: context.get(label))

    def set_context(self, label: str, text: str) -> None:
        _asked(lambda: context.set(label, text))

    def recent(self, limit: int) -> list[author.Message]:
        return [_shown(message, author.Message) for message in _asked(lambda: messages.recent(limit))]

    def info(self) -> author.SessionInfo:
        return _shown(_asked(session.info), author.SessionInfo)

    def send_message(self, text: str) -> None:
        _asked(lambda: session.send_message(text))

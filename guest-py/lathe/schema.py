"""From a function's signature to the JSON Schema of a tool's input."""

from __future__ import annotations

import inspect
import types
import typing
from typing import Any, Callable

from .types import CallContext

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def parameters(function: Callable[..., Any]) -> tuple[dict[str, inspect.Parameter], dict[str, Any], str | None]:
    """The parameters that the model fills, their types, and the name of the one for the call's context."""
    hints = typing.get_type_hints(function, include_extras=True)
    found = dict(list(inspect.signature(function).parameters.items())[1:])
    context = next((name for name in found if hints.get(name) is CallContext), None)
    if context:
        del found[context]
    for name, parameter in found.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(f"the tool {function.__name__} cannot have the parameter {parameter}")
        if name not in hints:
            raise TypeError(f"the parameter {name} of the tool {function.__name__} has no type")
    return found, hints, context


def of_input(function: Callable[..., Any]) -> dict[str, Any]:
    """An object with a property for each parameter; those without a default are required."""
    found, hints, _ = parameters(function)
    properties = {}
    for name, parameter in found.items():
        properties[name] = of_type(hints[name])
        if parameter.default is not parameter.empty and parameter.default is not None:
            properties[name]["default"] = parameter.default
    required = [name for name, parameter in found.items() if parameter.default is parameter.empty]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def of_type(hint: Any) -> dict[str, Any]:
    """The schema of values of a type. Text in an `Annotated` is its description."""
    if hint is Any:
        return {}
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        texts = [text for text in args[1:] if isinstance(text, str)]
        return {**of_type(args[0]), **({"description": " ".join(texts)} if texts else {})}
    if origin is typing.Literal:
        return {"enum": list(args)}
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [of_type(arg) for arg in args]}
    if hint is list or origin is list:
        return {"type": "array", **({"items": of_type(args[0])} if args else {})}
    if hint is dict or origin is dict:
        return {"type": "object", **({"additionalProperties": of_type(args[1])} if args else {})}
    raise TypeError(f"a tool's input cannot have the type {hint}; known are str, int, float, bool, list, dict, Literal, Optional, Any")

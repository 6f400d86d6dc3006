from typing import Annotated, Optional

import lathe
from lathe import Extension, InvalidInput, Permissions, ToolOverride, ToolResult, settings, tool

from summary import shorten, summarise


class Summarise(Extension):
    """Shortens long texts to the sentences that say most."""

    permissions = Permissions(decide=["after_tool_call"])
    settings_schema = {
        "type": "object",
        "properties": {
            "longest": {
                "description": "The longest text that a tool's result may hold, in characters; longer ones are shortened",
                "type": "integer",
                "minimum": 200,
                "default": 4000,
            },
        },
        "additionalProperties": False,
    }

    def after_tool_call(self, call: ToolResult) -> Optional[ToolOverride]:
        """Keeps long results from filling the model's context."""
        if not call.success:
            return None
        output = _shortened(call.output, settings().get("longest", 4000))
        if output == call.output:
            return None
        lathe.log.info(f"shortened the result of {call.tool_name}")
        return ToolOverride(output=output)

    @tool(replay="safe")
    def summarise(
        self,
        text: Annotated[str, "The text, as it is"],
        sentences: Annotated[int, "How many sentences to keep, 1 to 50"] = 3,
    ) -> dict:
        """Picks the sentences of a text that say most, in their order, word by word."""
        if not 1 <= sentences <= 50:
            raise InvalidInput("sentences has to be from 1 to 50")
        picked, of = summarise(text, sentences)
        return {"summary": " ".join(picked), "sentences": len(picked), "of": of}


def _shortened(value: lathe.Json, longest: int) -> lathe.Json:
    """The texts in a JSON value, each at most so long."""
    if isinstance(value, str):
        return shorten(value, longest)
    if isinstance(value, list):
        return [_shortened(entry, longest) for entry in value]
    if isinstance(value, dict):
        return {name: _shortened(entry, longest) for name, entry in value.items()}
    return value

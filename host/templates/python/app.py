from typing import Annotated

from lathe import Extension, TurnConfig, TurnSnapshot, settings, storage, tool


class Greeter(Extension):
    """Greets people, and knows how often."""

    # What the operator may write under [extension.NAME.settings] in lathe.toml.
    settings_schema = {
        "type": "object",
        "properties": {"greeting": {"type": "string", "default": "Hello"}},
        "additionalProperties": False,
    }

    def before_turn(self, turn: TurnSnapshot) -> TurnConfig:
        return TurnConfig(system=f"{turn.system}\n\nGreet people by name.")

    @tool()
    def greet(self, name: Annotated[str, "Whom to greet"]) -> dict:
        """Greets a person."""
        greeting = settings().get("greeting", "Hello")
        return {"text": f"{greeting}, {name}!", "times": storage.increment(f"greeted/{name}")}

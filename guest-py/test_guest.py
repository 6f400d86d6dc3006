import unittest
from typing import Annotated, Literal, Optional

import lathe
from lathe import CallContext, Extension, InvalidInput, TurnConfig, TurnSnapshot, context, log, messages, session
from lathe import Allow, Block, Chunk, ErrorInfo, Permissions, Substitute, ToolChoice, ToolOverride, ToolResult
from lathe import settings, storage, tool, wire
from lathe.testing import TestHost, ToolError


class Asking(Extension):
    """Asks for everything."""

    def before_turn(self, turn: TurnSnapshot) -> TurnConfig:
        return TurnConfig(system=turn.system + "+")

    @tool(replay="safe")
    def ask(self, text: Annotated[str, "What to ask."], times: int = 1, kind: Optional[Literal["a", "b"]] = None) -> dict:
        """Asks."""
        storage.set("list", [text, times, kind])
        storage.set_bytes("raw", b"\0\xff")
        log.warn("kept")
        context.set("notes", f"{context.get('notes')}!")
        session.send_message("hello")
        return {
            "list": storage.get("list"),
            "raw": list(storage.get_bytes("raw") or b""),
            "none": storage.get("none", 7),
            "gone": storage.delete("raw"),
            "count": storage.increment("count", 2),
            "keys": storage.keys(),
            "settings": settings(),
            "last": [message.content for message in messages.recent(1)],
            "session": session.info().message_count,
        }

    @tool(name="key", description="Tells the key")
    def its_key(self, call: CallContext) -> str:
        return call.idempotency_key

    @tool()
    def fail(self, how: str) -> None:
        """Fails."""
        raise InvalidInput("another") if how == "input" else ValueError("it failed")


class Guest(unittest.TestCase):
    def setUp(self) -> None:
        self.host = TestHost(
            Asking,
            settings={"limit": 3},
            storage={"count": 40},
            context={"notes": "old"},
            messages=[("user", "a"), ("assistant", "b")],
        )

    def test_what_is_written_is_what_it_gets(self) -> None:
        self.assertEqual(self.host.hooks, ["before_turn"])
        self.assertEqual(list(self.host.tools), ["ask", "key", "fail"])
        ask = self.host.tools["ask"]
        self.assertEqual((ask.description, ask.replay), ("Asks.", "safe"))
        self.assertEqual(
            ask.input_schema,
            {
                "type": "object",
                "properties": {
                    "text": {"type": "string", "description": "What to ask."},
                    "times": {"type": "integer", "default": 1},
                    "kind": {"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]},
                },
                "required": ["text"],
                "additionalProperties": False,
            },
        )
        self.assertEqual(self.host.tools["key"].input_schema["properties"], {})

    def test_hooks_are_methods(self) -> None:
        self.assertEqual(self.host.extension.before_turn(TurnSnapshot(system="SYS")), TurnConfig(system="SYS+"))

    def test_the_bridge_is_reached_through_the_host_of_the_test(self) -> None:
        self.assertEqual(
            self.host.call_tool("ask", text="ü", times=2),
            {
                "list": ["ü", 2, None],
                "raw": [0, 255],
                "none": 7,
                "gone": True,
                "count": 42,
                "keys": ["count", "list"],
                "settings": {"limit": 3},
                "last": ["b"],
                "session": 2,
            },
        )
        self.assertEqual(self.host.log, [("warn", "kept")])
        self.assertEqual((self.host.context["notes"], self.host.sent), ("old!", ["hello"]))
        self.assertEqual(self.host.storage["count"], 42)
        with self.assertRaisesRegex(lathe.BridgeError, "not found: no context block `none`"):
            context.set("none", "")
        with self.assertRaisesRegex(lathe.BridgeError, "too large: "):
            storage.set("x" * 513, 1)

    def test_what_a_tool_raises_is_the_calls_error(self) -> None:
        self.assertEqual(self.host.call_tool("key"), "key")
        for name, input, kind, text in [
            ("fail", {"how": "input"}, "invalid-input", "another"),
            ("fail", {"how": "so"}, "failed", "it failed"),
            ("fail", {}, "invalid-input", "missing: how"),
            ("none", {}, "unknown-tool", "no such tool"),
        ]:
            with self.assertRaises(ToolError) as raised:
                self.host.call_tool(name, **input)
            self.assertEqual((raised.exception.kind, str(raised.exception)), (kind, text))

    def test_a_tool_that_cannot_be_one_is_refused_where_it_is_written(self) -> None:
        def untyped(self, text): ...
        def odd(self, text: set): ...

        for function, said in [(untyped, "text of the tool untyped has no type"), (odd, "cannot have the type")]:
            with self.assertRaisesRegex(TypeError, said):
                tool(description="Odd")(function)
        with self.assertRaisesRegex(TypeError, "no docstring"):
            tool()(untyped)

    def test_the_sandbox_is_spoken_to_in_its_own_words(self) -> None:
        turn = wire.snapshot(TurnSnapshot(trigger="ws-chat", body={"a": 1}))
        self.assertEqual((turn["trigger"], turn["body"], turn["max_steps"]), ("WsChat", '{"a": 1}', 10))
        call = wire.snapshot(ToolResult(input=[1], output=None))
        self.assertEqual((call["input"], call["outcome"], call["result"]), ("[1]", "Executed", {"Ok": "null"}))
        failed = wire.snapshot(ToolResult(error=ErrorInfo("Error", "no")))
        self.assertEqual(failed["result"], {"Err": {"name": "Error", "message": "no"}})
        chunk = {"type_": "TextDelta", "text": "t", "tool_name": None, "tool_call_id": None}
        self.assertEqual(wire.snapshot([Chunk("text-delta", "t")]), [chunk])
        asked = wire.permissions(Permissions(workspace="read-write", decide=["before_step"]))
        self.assertEqual((asked["workspace"], asked["decide"], asked["model"]), ("ReadWrite", ["BeforeStep"], False))

    def test_what_the_sandbox_answers_is_what_the_author_wrote(self) -> None:
        none = {name: None for name in vars(TurnConfig())}
        answered = {**none, "tool_choice": {"Tool": "go"}, "messages": "[]", "headers": [["x-a", "1"]], "reset": ["topP"]}
        config = TurnConfig(tool_choice=ToolChoice("tool", "go"), messages=[], headers={"x-a": "1"}, reset=["top_p"])
        self.assertEqual(wire.answer("before_turn", answered), config)
        for answered, decision in [
            ({"Allow": None}, Allow()),
            ({"Allow": "null"}, Allow(None)),
            ({"Block": "r"}, Block("r")),
            ({"Substitute": "[1]"}, Substitute([1])),
        ]:
            self.assertEqual(wire.answer("before_tool_call", answered), decision)
        kept = {"output": None, "is_error": True, "terminate": None}
        self.assertEqual(wire.answer("after_tool_call", kept), ToolOverride(is_error=True))
        self.assertIsNone(wire.answer("on_chunk", None))
        self.assertEqual(wire.words("InvalidInput"), "invalid-input")


if __name__ == "__main__":
    unittest.main()

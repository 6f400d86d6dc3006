import os
import unittest
from dataclasses import asdict

from answers import ANSWERS
from app import Mirror
from lathe import ChatError, ChatResponse, Chunk, ErrorInfo, StepFinish, StepSnapshot, ToolCall, ToolResult, TurnSnapshot, Usage
from lathe.testing import TestHost, ToolError


class MirrorTest(unittest.TestCase):
    def test_hooks_are_shown_what_a_test_gives(self) -> None:
        host = TestHost(Mirror)
        usage = Usage(input_tokens=3, total_tokens=5)
        for hook, given in {
            "before_turn": TurnSnapshot(system="ü\u2028", tool_names=["a"], trigger="agent-tool", body={"a": [1]}),
            "before_step": StepSnapshot(step_number=2, total_usage=usage),
            "before_tool_call": ToolCall(input={"toolName": "x"}, dynamic=True),
            "after_tool_call": ToolResult(output=[None], outcome="substituted", duration_ms=0.5),
            "on_step_finish": StepFinish(finish_reason="content-filter", usage=usage, provider_metadata={"a": {"b": 1}}),
            "on_chat_response": ChatResponse(status="aborted", error="stopped", total_usage=usage),
            "on_chat_error": ChatError(stage="persist", classification="rate-limit"),
        }.items():
            self.assertIsNone(getattr(host.extension, hook)(given))
            self.assertEqual(host.storage[hook], asdict(given), hook)
        failed = ToolResult(error=ErrorInfo("Error", "no"))
        host.extension.after_tool_call(failed)
        self.assertEqual(host.storage["after_tool_call"], asdict(failed))
        chunks = [Chunk("text-delta", "t"), Chunk("tool-call", tool_name="a", tool_call_id="c")]
        host.extension.on_chunk(chunks)
        self.assertEqual(host.storage["on_chunk"], [asdict(chunk) for chunk in chunks])

    def test_a_test_hears_what_hooks_answer(self) -> None:
        for number, answers in enumerate(ANSWERS):
            host = TestHost(Mirror, settings={"answers": number})
            for hook, shown in {
                "before_turn": TurnSnapshot(),
                "before_step": StepSnapshot(),
                "before_tool_call": ToolCall(),
                "after_tool_call": ToolResult(),
            }.items():
                self.assertEqual(getattr(host.extension, hook)(shown), answers.get(hook), hook)

    def test_what_the_host_holds_is_the_tests(self) -> None:
        messages = [("user", "a"), ("assistant", "b")]
        host = TestHost(Mirror, storage={"count": 40}, context={"notes": "old"}, messages=messages)
        answer = host.call_tool("ask", x="ü")
        # Only the sandbox has a limit to what is stored; the configuration of this repository's tests sets it.
        self.assertEqual(answer.pop("full"), "too-large" if "LATHE_SANDBOX" in os.environ else None)
        self.assertEqual(
            answer,
            {
                "x": "ü",
                "key": "key",
                "raw": [0, 255],
                "none": 7,
                "gone": True,
                "count": 42,
                "keys": ["count"],
                "last": [{"id": "message-1", "role": "assistant", "content": "b"}],
                "session": {"name": "test", "message_count": 2},
            },
        )
        self.assertEqual(host.log, [("warn", "kept")])
        self.assertEqual((host.context["notes"], host.sent, host.storage["count"]), ("old!", ["hello"], 42))

    def test_errors_are_told(self) -> None:
        host = TestHost(Mirror)
        for name, input, kind, text in [
            ("refuse", {"how": "input"}, "invalid-input", "another"),
            ("refuse", {}, "failed", "it failed"),
            ("none", {}, "unknown-tool", "no such tool"),
        ]:
            with self.assertRaises(ToolError) as raised:
                host.call_tool(name, **input)
            self.assertEqual((raised.exception.kind, str(raised.exception)), (kind, text))
        host.settings = {"fails": "kaput"}
        with self.assertRaisesRegex(Exception, "kaput"):
            host.extension.before_turn(TurnSnapshot())


if __name__ == "__main__":
    unittest.main()

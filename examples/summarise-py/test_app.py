import unittest

from app import Summarise
from lathe import ErrorInfo, ToolResult
from lathe.testing import TestHost, ToolError
from summary import sentences, shorten

TEXT = """The lathe turns the workpiece against a cutting tool. It is an old machine.
Cutting tools are made of hard steel, and the workpiece turns on the lathe's spindle!

Some people like tea. "Does the spindle turn?" The spindle of a lathe turns the workpiece at a set speed."""


class Summary(unittest.TestCase):
    def test_sentences_end_where_they_end(self) -> None:
        self.assertEqual(len(sentences(TEXT)), 6)
        self.assertEqual(sentences("It costs 3.50 euro. e.g. this. Next"), ["It costs 3.50 euro. e.g. this.", "Next"])
        self.assertEqual(sentences("  \n\n "), [])

    def test_a_shortened_text_is_never_longer_than_told(self) -> None:
        for longest in range(20, len(TEXT) + 10):
            self.assertLessEqual(len(shorten(TEXT, longest)), longest)
        self.assertEqual(shorten(TEXT, len(TEXT)), TEXT)
        self.assertTrue(shorten("x" * 500, 100).endswith("x […]"))


class Extension(unittest.TestCase):
    def setUp(self) -> None:
        self.host = TestHost(Summarise, settings={"longest": 200})

    def test_the_tool_picks_sentences_as_they_are(self) -> None:
        answer = self.host.call_tool("summarise", text=TEXT, sentences=2)
        self.assertEqual((answer["sentences"], answer["of"]), (2, 6))
        self.assertIn("The spindle of a lathe turns the workpiece", answer["summary"])
        self.assertNotIn("tea", answer["summary"])
        self.assertEqual(self.host.call_tool("summarise", text="One. Two."), {"summary": "One. Two.", "sentences": 2, "of": 2})
        with self.assertRaises(ToolError) as raised:
            self.host.call_tool("summarise", text=TEXT, sentences=0)
        self.assertEqual(raised.exception.kind, "invalid-input")

    def test_long_results_are_shortened_wherever_they_stand(self) -> None:
        after = self.host.extension.after_tool_call
        change = after(ToolResult(tool_name="read", output={"page": [TEXT, 7], "title": "Lathe"}))
        assert change is not None
        self.assertLessEqual(len(change.output["page"][0]), 200)
        self.assertEqual((change.output["page"][1], change.output["title"]), (7, "Lathe"))
        self.assertEqual(self.host.log, [("info", "shortened the result of read")])

    def test_short_and_failed_results_stay(self) -> None:
        after = self.host.extension.after_tool_call
        self.assertIsNone(after(ToolResult(output={"page": "short"})))
        self.assertIsNone(after(ToolResult(error=ErrorInfo("Error", TEXT))))

    def test_it_gets_what_it_asks_for(self) -> None:
        self.assertEqual(self.host.hooks, ["after_tool_call"])
        self.assertEqual(Summarise.permissions.decide, self.host.hooks)
        self.assertEqual(self.host.tools["summarise"].input_schema["required"], ["text"])


if __name__ == "__main__":
    unittest.main()

import unittest

from app import Greeter
from lathe import TurnConfig, TurnSnapshot
from lathe.testing import TestHost


class GreeterTest(unittest.TestCase):
    def test_the_system_prompt_asks_for_greetings(self) -> None:
        turn = TurnSnapshot(system="Be brief.")
        answer = TestHost(Greeter).extension.before_turn(turn)
        self.assertEqual(answer, TurnConfig(system="Be brief.\n\nGreet people by name."))

    def test_people_are_greeted_as_the_operator_wishes_and_counted(self) -> None:
        host = TestHost(Greeter, settings={"greeting": "Ahoy"})
        self.assertEqual(host.call_tool("greet", name="Ada"), {"text": "Ahoy, Ada!", "times": 1})
        self.assertEqual(host.call_tool("greet", name="Ada"), {"text": "Ahoy, Ada!", "times": 2})
        self.assertEqual(host.storage, {"greeted/Ada": 2})


if __name__ == "__main__":
    unittest.main()

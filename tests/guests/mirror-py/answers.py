"""What the hooks answer, by the number in the settings."""

from lathe import Allow, Block, StepConfig, Substitute, ToolChoice, ToolOverride, TurnConfig

_STEP = {"system": "new", "messages": [{"role": "user", "content": "hi"}], "active_tools": ["a"], "model": "a:b"}

ANSWERS = [
    {
        "before_turn": TurnConfig(
            **_STEP,
            tool_choice=ToolChoice("tool", "a"),
            max_steps=2,
            send_reasoning=False,
            temperature=0.5,
            stop_sequences=["x"],
            seed=-1,
            timeout_ms=5,
            headers={"x-a": "1"},
            provider_options={"openai": {"a": 1}},
            reset=["top_p"],
        ),
        "before_step": StepConfig(**_STEP, tool_choice=ToolChoice("required")),
        "before_tool_call": Allow({"a": 1}),
        "after_tool_call": ToolOverride(output=None, is_error=True, terminate=False),
    },
    {
        "before_turn": TurnConfig(),
        "before_step": StepConfig(),
        "before_tool_call": Block("r"),
        "after_tool_call": ToolOverride(),
    },
    {"before_tool_call": Substitute([1])},
    {"before_tool_call": Allow()},
    {"before_tool_call": Block()},
    {},
]

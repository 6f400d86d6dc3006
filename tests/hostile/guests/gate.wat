;; Traps where it decides over tool calls.
(func $before_tool_call (type $before_tool_call) (unreachable))

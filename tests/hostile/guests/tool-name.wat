;; Its tool has the name of a path.
(data $tool_name (i32.const 3648) "../")

;; A config whose messages are JSON, but no messages.
(data $config (i32.const 8192) "\00\00\00\00\00\00\00\00\01")
(data $messages (i32.const 8220) "\01\00\00\00\00\22\00\00\0a\00\00\00")
(data $text (i32.const 8704) "{\"role\":7}")
(func $before_turn (type $before_turn) (i32.const 8192))

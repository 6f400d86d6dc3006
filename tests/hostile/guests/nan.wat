;; A config with a temperature that is no number, and a good system text.
(data $config (i32.const 8192) "\00\00\00\00\00\00\00\00\01")
(data $system (i32.const 8208) "\01\00\00\00\00\22\00\00\06\00\00\00")
(data $temperature (i32.const 8280) "\01\00\00\00\00\00\00\00\00\00\00\00\00\00\f8\7f")
(data $text (i32.const 8704) "SYS+ok")
(func $before_turn (type $before_turn) (i32.const 8192))

;; Chooses a model without the right to.
(data $config (i32.const 8192) "\00\00\00\00\00\00\00\00\01")
(data $model (i32.const 8428) "\01\00\00\00\00\22\00\00\0c\00\00\00")
(data $text (i32.const 8704) "openai:gpt-5")
(func $before_turn (type $before_turn) (i32.const 8192))

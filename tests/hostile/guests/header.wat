;; Puts a second header into the value of the first.
(data $config (i32.const 8192) "\00\00\00\00\00\00\00\00\01")
(data $headers (i32.const 8408) "\00\22\00\00\01\00\00\00")
(data $pair (i32.const 8704) "\20\22\00\00\03\00\00\00\30\22\00\00\08\00\00\00")
(data $header (i32.const 8736) "x-a")
(data $value (i32.const 8752) "1\r\nx-b:2")
(func $before_turn (type $before_turn) (i32.const 8192))

;; Its tool answers with a number that is larger than any.
(data $output (i32.const 4096) "\00\00\00\00\10\10\00\00\05\00\00\00\00\00\00\001e999")

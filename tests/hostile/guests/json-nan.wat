;; Its tool answers with a number that JSON does not have.
(data $output (i32.const 4096) "\00\00\00\00\10\10\00\00\08\00\00\00\00\00\00\00[1, NaN]")

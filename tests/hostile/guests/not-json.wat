;; Its tool answers with something that is no JSON.
(data $output (i32.const 4096) "\00\00\00\00\10\10\00\00\08\00\00\00\00\00\00\00{'a': 1}")

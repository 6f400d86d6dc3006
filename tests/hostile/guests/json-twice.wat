;; Its tool answers with an object that has one key twice.
(data $output (i32.const 4096) "\00\00\00\00\10\10\00\00\10\00\00\00\00\00\00\00{\"a\": 1, \"a\": 2}")

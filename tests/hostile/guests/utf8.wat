;; Its tool answers with bytes that are no UTF-8.
(data $output (i32.const 4096) "\00\00\00\00\10\10\00\00\04\00\00\00\00\00\00\00\"\c3\28\"")

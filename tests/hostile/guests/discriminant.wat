;; Its tool answers neither `ok` nor `err`.
(data $output (i32.const 4096) "\09")

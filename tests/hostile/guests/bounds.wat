;; Its tool answers with a text that lies outside of its memory.
(data $output (i32.const 4096) "\00\00\00\00\f0\ff\ff\ff\40\00\00\00")

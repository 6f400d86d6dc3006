;; Its tool answers with 10,000 lists, one in the other.
(data $output (i32.const 4096) "\00\00\00\00\00\40\00\00\20\4e\00\00")
(func $call (type $call)
  (memory.fill (i32.const 16384) (i32.const 91) (i32.const 10000))
  (memory.fill (i32.const 26384) (i32.const 93) (i32.const 10000))
  (i32.const 4096))

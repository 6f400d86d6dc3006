;; Ends itself as if all were well.
(import "wasi:cli/exit@0.2.0" "exit" (func $exit (param i32)))
(func $before_turn (type $before_turn) (call $exit (i32.const 0)) (i32.const 1024))

;; Calls itself until the stack is full.
(func $deeper (param i32) (result i32)
  (i32.add (call $deeper (i32.add (local.get 0) (i32.const 1))) (local.get 0)))
(func $before_turn (type $before_turn) (call $deeper (i32.const 0)))

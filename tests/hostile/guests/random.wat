;; Asks for a terabyte of random bytes.
(import "wasi:random/random@0.2.0" "get-random-bytes" (func $random (param i64 i32)))
(func $before_turn (type $before_turn)
  (call $random (i64.const 0x10000000000) (i32.const 8192))
  (i32.const 1024))

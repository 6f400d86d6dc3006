;; Asks for random bytes, for ever.
(import "wasi:random/random@0.2.0" "get-random-bytes" (func $random (param i64 i32)))
(func $before_turn (type $before_turn)
  (loop $again (call $random (i64.const 0x400) (i32.const 8192)) (br $again))
  (unreachable))

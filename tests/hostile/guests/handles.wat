;; Makes resources and lets go of none.
(import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $after (param i64) (result i32)))
(func $before_turn (type $before_turn)
  (loop $again (drop (call $after (i64.const 1))) (br $again))
  (unreachable))

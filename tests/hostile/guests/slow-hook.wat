;; Goes well, but takes a tenth of a second each time.
(import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $after (param i64) (result i32)))
(import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))
(func $before_turn (type $before_turn)
  (call $block (call $after (i64.const 100000000)))
  (i32.const 1024))

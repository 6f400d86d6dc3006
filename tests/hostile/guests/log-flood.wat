;; Logs a megabyte, for ever.
(import "lathe:extension/log@0.1.0" "log" (func $log (param i32 i32 i32)))
(memory $memory 20)
(func $before_turn (type $before_turn)
  (loop $again (call $log (i32.const 0) (i32.const 0x20000) (i32.const 0x100000)) (br $again))
  (unreachable))

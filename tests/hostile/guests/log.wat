;; Logs 1,200 records of 64 KiB: every other byte of it ends a two-byte character.
(import "lathe:extension/log@0.1.0" "log" (func $log (param i32 i32 i32)))
(memory $memory 4)
(func $before_turn (type $before_turn)
  (local $left i32)
  (local.set $left (i32.const 0x20000))
  (loop $write
    (i32.store16 (local.get $left) (i32.const 0xa9c3))
    (local.set $left (i32.add (local.get $left) (i32.const 2)))
    (br_if $write (i32.lt_u (local.get $left) (i32.const 0x30000))))
  (local.set $left (i32.const 1200))
  (loop $again
    (call $log (i32.const 4) (i32.const 0x1fffe) (i32.const 0x10000))
    (local.set $left (i32.sub (local.get $left) (i32.const 1)))
    (br_if $again (local.get $left)))
  (i32.const 1024))

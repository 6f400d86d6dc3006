;; Burns time and little fuel: each instruction waits for memory, and whole megabytes are moved at once.
(memory $memory 1000)
(func $before_turn (type $before_turn)
  (local $at i32)
  (loop $again
    (local.set $at (i32.and (i32.add (i32.mul (local.get $at) (i32.const 1664525)) (i32.const 1013904223)) (i32.const 0x1fffffc)))
    (local.set $at (i32.add (local.get $at) (i32.load (i32.add (i32.const 0x400000) (local.get $at)))))
    (memory.copy (i32.const 0x2400000) (i32.const 0x400000) (i32.const 0x100000))
    (br $again))
  (unreachable))

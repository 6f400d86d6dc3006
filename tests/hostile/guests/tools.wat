;; Lists one tool a thousand times.
(func $describe (type $describe)
  (local $at i32)
  (local.set $at (i32.const 65536))
  (loop $again
    (memory.copy (local.get $at) (i32.const 3584) (i32.const 28))
    (local.set $at (i32.add (local.get $at) (i32.const 28)))
    (br_if $again (i32.lt_u (local.get $at) (i32.const 93536))))
  (i32.store (i32.const 2080) (i32.const 65536))
  (i32.const 2048))

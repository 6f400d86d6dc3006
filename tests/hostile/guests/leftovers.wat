;; Takes a megabyte, looks for what somebody else has left there, and leaves something itself. Finding anything, it traps.
(func $before_turn (type $before_turn)
  (local $at i32)
  (local $end i32)
  (local.set $at (i32.mul (memory.size) (i32.const 65536)))
  (if (i32.eq (memory.grow (i32.const 16)) (i32.const -1)) (then (unreachable)))
  (local.set $end (i32.mul (memory.size) (i32.const 65536)))
  (loop $again
    (if (i32.load (local.get $at)) (then (unreachable)))
    (i32.store (local.get $at) (i32.const 0x5ec2e7))
    (local.set $at (i32.add (local.get $at) (i32.const 64)))
    (br_if $again (i32.lt_u (local.get $at) (local.get $end))))
  (i32.const 1024))

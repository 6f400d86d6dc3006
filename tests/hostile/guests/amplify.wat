;; A small answer that would be large in the host: 4,096 headers that share one text of 64 KiB.
(memory $memory 20)
(data $config (i32.const 8192) "\00\00\00\00\00\00\00\00\01")
(func $before_turn (type $before_turn)
  (local $at i32)
  (local.set $at (i32.const 0x40000))
  (loop $again
    (i32.store (local.get $at) (i32.const 0x20000))
    (i32.store offset=4 (local.get $at) (i32.const 0x10000))
    (local.set $at (i32.add (local.get $at) (i32.const 8)))
    (br_if $again (i32.lt_u (local.get $at) (i32.const 0x50000))))
  (i32.store (i32.const 8408) (i32.const 0x40000))
  (i32.store (i32.const 8412) (i32.const 4096))
  (i32.const 8192))

;; Four memories, each of which is small enough.
(memory $a 0) (memory $b 0) (memory $c 0) (memory $d 0)
(func $before_turn (type $before_turn)
  (drop (memory.grow $a (i32.const 40)))
  (drop (memory.grow $b (i32.const 40)))
  (drop (memory.grow $c (i32.const 40)))
  (if (i32.eq (memory.grow $d (i32.const 40)) (i32.const -1)) (then (unreachable)))
  (i32.const 1024))

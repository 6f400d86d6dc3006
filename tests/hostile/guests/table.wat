;; A table that grows until it cannot.
(table $table 1 funcref)
(func $before_turn (type $before_turn)
  (loop $again
    (br_if $again (i32.ne (table.grow $table (ref.null func) (i32.const 100000)) (i32.const -1))))
  (unreachable))

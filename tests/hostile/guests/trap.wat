;; Traps in a hook. Its tool is none the worse.
(func $before_turn (type $before_turn) (unreachable))

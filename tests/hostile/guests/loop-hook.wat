;; A hook that never ends.
(func $before_turn (type $before_turn) (loop $again (br $again)) (unreachable))

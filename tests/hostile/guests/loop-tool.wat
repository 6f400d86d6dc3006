;; A tool that never ends.
(func $call (type $call) (loop $again (br $again)) (unreachable))

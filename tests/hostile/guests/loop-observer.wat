;; Watches the stream and never ends.
(func $on_chunk (type $on_chunk) (loop $again (br $again)) (unreachable))

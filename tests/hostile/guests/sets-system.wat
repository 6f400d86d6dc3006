;; Replaces the system text by a word that ends in its own name's last letter.
(data $config (i32.const 8192) "\00\00\00\00\00\00\00\00\01")
(data $system (i32.const 8208) "\01\00\00\00\00\22\00\00\05\00\00\00")
(data $text (i32.const 8704) "SYS-")
(func $before_turn (type $before_turn)
  (i32.store8 (i32.const 8708) (i32.load8_u (i32.add (i32.const 3327) (i32.load (i32.const 2052)))))
  (i32.const 8192))

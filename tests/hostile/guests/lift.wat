;; An answer of more than 16 MiB.
(memory $memory 300)
(data $output (i32.const 4096) "\00\00\00\00\00\00\02\00\00\00\08\01") ;; 0x1080000 bytes from 0x20000

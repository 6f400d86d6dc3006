;; An answer of more than 4 MiB.
(memory $memory 80)
(data $output (i32.const 4096) "\00\00\00\00\00\00\02\00\00\00\48\00") ;; 0x480000 bytes from 0x20000

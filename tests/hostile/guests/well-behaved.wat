;; Nothing is wrong with it.

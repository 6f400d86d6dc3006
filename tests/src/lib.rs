//! What the tests of the whole system share.

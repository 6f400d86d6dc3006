//! What the tests of the whole system share.
pub mod provider_server;
pub mod guests;

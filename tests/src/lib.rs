//! What the tests of the whole system share.
pub mod guests;
pub mod provider_server;

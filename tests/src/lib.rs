//! What the tests of the whole system share.
pub mod binary;
pub mod guests;
pub mod provider_server;

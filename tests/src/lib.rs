//! What the tests of the whole system share.
pub mod binary;
pub mod guests;
pub mod house;
pub mod provider_server;
pub mod tool;

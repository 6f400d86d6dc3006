use std::io;
use std::net::IpAddr;

use async_trait::async_trait;

/// Finds the addresses of a host.
#[async_trait]
pub trait Resolver: Send + Sync {
    /// The addresses of a name, best first. Asked once a request; the addresses are checked after that, and one of them
    /// is connected to.
    ///
    /// # Errors
    ///
    /// If there is no such host, or it cannot be found out.
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// As the system does it.
pub(crate) struct SystemResolver;

#[async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((host, 0)).await?.map(|address| address.ip()).collect())
    }
}

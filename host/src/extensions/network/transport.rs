use async_trait::async_trait;

/// Answers the requests of extensions in place of the network, for tests. The policy has let them through; nobody looks the
/// host up.
#[async_trait]
pub trait Transport: Send + Sync {
    /// The whole answer to a request with its whole body. None if there is no such server.
    async fn send(&self, request: http::Request<Vec<u8>>) -> Option<http::Response<Vec<u8>>>;

    /// The policy has refused a request.
    fn refused(&self, _method: &http::Method, _url: &http::Uri) {}
}

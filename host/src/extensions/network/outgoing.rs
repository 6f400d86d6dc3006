use std::sync::Arc;

use http::HeaderName;
use tokio::sync::Semaphore;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;
use wasmtime_wasi_http::{
    DEFAULT_FORBIDDEN_HEADERS, Error, ForbiddenHeaderFilter, RequestOptions, WasiBody, WasiHttpHooks,
};

use super::client::{Client, Sent};
use super::policy::Policy;
use super::resolver::Resolver;
use super::transport::Transport;
use crate::extensions::denial::Denials;

/// Requests of an instance under way at once. 16: more than a browser opens to one host.
const REQUESTS: usize = 16;

/// What requests of an extension go through, for all of its instances.
#[derive(Clone)]
pub(crate) struct Network {
    pub(crate) policy: Arc<Policy>,
    pub(crate) resolver: Arc<dyn Resolver>,
    /// What stands in for the network.
    pub(crate) transport: Option<Arc<dyn Transport>>,
}

/// The requests of one instance.
pub(crate) struct Outgoing {
    network: Network,
    denials: Denials,
    slots: Arc<Semaphore>,
}

impl Outgoing {
    pub(crate) fn new(network: Network, denials: Denials) -> Self {
        Self { network, denials, slots: Arc::new(Semaphore::new(REQUESTS)) }
    }
}

/// Headers by which a guest would speak for the connection, for a proxy, or to a metadata service as its owner.
pub(super) fn is_forbidden(name: &HeaderName) -> bool {
    DEFAULT_FORBIDDEN_HEADERS.contains(name)
        || matches!(
            name.as_str(),
            "te" | "trailer"
                | "expect"
                | "via"
                | "forwarded"
                | "x-forwarded-for"
                | "x-forwarded-host"
                | "x-forwarded-proto"
                | "x-real-ip"
                | "metadata"
                | "metadata-flavor"
                | "x-aws-ec2-metadata-token"
                | "x-aws-ec2-metadata-token-ttl-seconds"
        )
}

impl WasiHttpHooks for Outgoing {
    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        Arc::new(is_forbidden)
    }

    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Result<Sent, Error>> + Send> {
        let (network, denials, slots) = (self.network.clone(), self.denials.clone(), self.slots.clone());
        Box::new(async move {
            let slot = slots.try_acquire_owned().map_err(|_| Error::ConnectionLimitReached)?;
            let client = Client { network: &network, denials: &denials };
            let (response, connection) = client.send(request, options.unwrap_or_default()).await?;
            let connection = async move {
                let _slot = slot;
                Box::into_pin(connection).await
            };
            Ok((response, Box::new(connection) as Box<_>))
        })
    }

    // What goes wrong on the way is the guest's affair, and no news for the operator.

    fn p2_error_from_hyper(&mut self, error: &hyper::Error) -> ErrorCode {
        tracing::debug!("a request of an extension failed: {error:?}");
        ErrorCode::HttpProtocolError
    }

    fn p2_error_from_connect(&mut self, error: &std::io::Error) -> ErrorCode {
        tracing::debug!("a request of an extension did not connect: {error}");
        ErrorCode::ConnectionRefused
    }

    fn p2_error_from_tls(&mut self, error: &std::io::Error) -> ErrorCode {
        tracing::debug!("a request of an extension found no TLS: {error}");
        ErrorCode::TlsProtocolError
    }
}

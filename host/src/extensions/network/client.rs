use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use futures::future::{Either, select};
use http::uri::PathAndQuery;
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, ClientConfig};
use wasmtime_wasi_http::io::TokioIo;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

use super::body::{limited, timed};
use super::outgoing::Network;
use super::policy::{Refusal, Target};
use super::transport::Transport;
use crate::extensions::denial::Denials;

/// To find, reach and greet a server. 10 s: a server that is there answers within one. A guest may set less.
const CONNECT: Duration = Duration::from_secs(10);

/// Until a response begins, and between its pieces. 60 s: the deadline of a tool call. A guest may set less.
const SILENCE: Duration = Duration::from_secs(60);

/// A response, and the connection that has to be driven while its body is read.
pub(super) type Sent = (Response<WasiBody>, Box<dyn Future<Output = Result<(), Error>> + Send>);

/// Sends requests that the policy allows.
pub(super) struct Client<'a> {
    pub(super) network: &'a Network,
    pub(super) denials: &'a Denials,
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Client<'_> {
    pub(super) async fn send(
        &self,
        mut request: Request<WasiBody>,
        options: RequestOptions,
    ) -> Result<Sent, Error> {
        let within = |asked: Option<Duration>, most: Duration| asked.map_or(most, |asked| asked.min(most));
        let refuse = |refusal: Refusal| {
            if let Some(transport) = &self.network.transport {
                transport.refused(request.method(), request.uri());
            }
            self.refuse(&refusal)
        };
        let target = Target::of(request.uri()).map_err(refuse)?;
        let rule = self.network.policy.check(request.method(), &target).map_err(refuse)?;
        if let Some(transport) = &self.network.transport {
            request.headers_mut().extend(rule.secrets());
            return stand_in(&**transport, request).await;
        }
        let connect = async {
            let addresses = self.addresses(&target).await?;
            rule.check_addresses(&target, &addresses).map_err(|refusal| self.refuse(&refusal))?;
            connect(&target, &addresses).await
        };
        let stream = timeout(within(options.connect_timeout, CONNECT), connect)
            .await
            .map_err(|_| Error::ConnectionTimeout)??;
        request.headers_mut().extend(rule.secrets());
        // The server is told the path alone; the host is in its header.
        *request.uri_mut() = path(request.uri())?;
        let request = request.map(|body| limited(body, rule.grant.request_bytes, Error::HttpRequestBodySize));

        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let mut connection = Box::pin(connection);
        let response = timeout(within(options.first_byte_timeout, SILENCE), sender.send_request(request));
        let (response, ended) = match select(Box::pin(response), &mut connection).await {
            Either::Left((response, _)) => (response, None),
            // A server may answer and hang up at once, and not politely: the answer counts all the same.
            Either::Right((ended, response)) => (response.await, Some(ended)),
        };
        let open = ended.is_none();
        let response = match (response.map_err(|_| Error::HttpResponseTimeout)?, ended) {
            (Ok(response), _) => response,
            (Err(_), Some(Err(error))) | (Err(error), _) => return Err(cause(error)),
        };
        let wait = within(options.between_bytes_timeout, SILENCE);
        let most = rule.grant.response_bytes;
        let response = response.map(|body| limited(timed(body, wait), most, Error::HttpResponseBodySize));
        let drive = async move { if open { connection.await.map_err(cause) } else { Ok(()) } };
        Ok((response, Box::new(drive)))
    }

    fn refuse(&self, refusal: &Refusal) -> Error {
        self.denials.note(&format!("a request was refused: {refusal}"));
        match refusal {
            Refusal::NoHost | Refusal::NoPort | Refusal::User => Error::HttpRequestUriInvalid,
            Refusal::Address { .. } => Error::DestinationIpProhibited,
            Refusal::Secret { .. } => Error::ConfigurationError,
            _ => Error::HttpRequestDenied,
        }
    }

    async fn addresses(&self, target: &Target) -> Result<Vec<IpAddr>, Error> {
        if let Ok(address) = target.host.parse() {
            return Ok(vec![address]);
        }
        let nowhere = |rcode: String| Error::DnsError { rcode: Some(rcode), info_code: None };
        match self.network.resolver.resolve(&target.host).await {
            Ok(addresses) if addresses.is_empty() => Err(nowhere("it has no address".into())),
            Ok(addresses) => Ok(addresses),
            Err(error) => Err(nowhere(error.to_string())),
        }
    }
}

/// An answer without a network.
async fn stand_in(transport: &dyn Transport, request: Request<WasiBody>) -> Result<Sent, Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes().to_vec();
    let response = transport.send(Request::from_parts(head, body)).await;
    let refused = || Error::Connect(std::io::ErrorKind::ConnectionRefused.into());
    let response = response.ok_or_else(refused)?;
    let whole = |body: Vec<u8>| Full::new(Bytes::from(body)).map_err(|never| match never {}).boxed_unsync();
    Ok((response.map(whole), Box::new(async { Ok(()) })))
}

/// Connects to the first of these addresses that answers.
async fn connect(target: &Target, addresses: &[IpAddr]) -> Result<Box<dyn Stream>, Error> {
    let addresses: Vec<SocketAddr> =
        addresses.iter().map(|address| SocketAddr::new(*address, target.port)).collect();
    let stream = TcpStream::connect(&*addresses).await.map_err(Error::Connect)?;
    // A request is small and waited for.
    let _ = stream.set_nodelay(true);
    if !target.tls {
        return Ok(Box::new(stream));
    }
    let config = TLS.as_ref().map_err(|error| {
        tracing::error!("TLS cannot be set up for extensions: {error}");
        Error::ConfigurationError
    })?;
    let name = ServerName::try_from(target.host.clone()).map_err(|_| Error::HttpRequestUriInvalid)?;
    let stream = TlsConnector::from(config.clone()).connect(name, stream).await.map_err(untrusted)?;
    Ok(Box::new(stream))
}

/// Trusts whom this machine trusts.
static TLS: LazyLock<Result<Arc<ClientConfig>, rustls::Error>> = LazyLock::new(|| {
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?;
    Ok(Arc::new(builder.with_no_client_auth()))
});

fn untrusted(error: std::io::Error) -> Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidCertificate(_)) => Error::TlsCertificateError,
        _ => Error::Tls(error),
    }
}

fn path(uri: &Uri) -> Result<Uri, Error> {
    let path = uri.path_and_query().map_or("/", PathAndQuery::as_str);
    Uri::builder().path_and_query(path).build().map_err(|_| Error::HttpRequestUriInvalid)
}

/// Our own error, where hyper only carries it.
fn cause(error: hyper::Error) -> Error {
    let source = std::error::Error::source(&error).and_then(|source| source.downcast_ref());
    match source {
        Some(Error::HttpRequestBodySize(size)) => Error::HttpRequestBodySize(*size),
        _ => Error::Hyper(error),
    }
}

//! Traces of turns for OpenTelemetry, over OTLP (HTTP, protobuf).
//!
//! The spans are made where the work is done, in `driver` and `extensions`; here they are sent. May use nothing else, and
//! only a program's start uses it.

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

/// Where a collector takes traces, after its address.
const PATH: &str = "/v1/traces";

/// Sends traces to a collector, in a thread of its own. What a collector does not take in time is lost, and said in the
/// log; no turn waits for it.
///
/// ```no_run
/// use lathe::telemetry::Exporter;
/// use tracing_subscriber::layer::SubscriberExt;
/// use tracing_subscriber::util::SubscriberInitExt;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let exporter = Exporter::new("http://localhost:4318")?;
/// tracing_subscriber::registry().with(exporter.layer()).init();
/// // … turns …
/// exporter.close()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Exporter {
    provider: SdkTracerProvider,
}

/// Why traces are not sent.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The collector cannot be used.
    #[error("traces cannot be sent to {url}: {error}")]
    Collector {
        /// Where it was to be.
        url: String,
        /// Why.
        error: String,
    },
    /// Something was not sent at the end.
    #[error("the last traces were not sent: {0}")]
    Flush(String),
}

impl Exporter {
    /// For the collector at that address, such as `http://localhost:4318`; `/v1/traces` is added if it is not there. What
    /// else there is to set, the variables of OpenTelemetry do, such as `OTEL_EXPORTER_OTLP_HEADERS` and
    /// `OTEL_RESOURCE_ATTRIBUTES`.
    ///
    /// # Errors
    ///
    /// If the address is none. Whether a collector is there is found out when something is sent.
    pub fn new(url: &str) -> Result<Self, TelemetryError> {
        let failed = |error: String| TelemetryError::Collector { url: url.to_owned(), error };
        let address = url.trim_end_matches('/');
        match address.parse::<http::Uri>() {
            Ok(uri) if matches!(uri.scheme_str(), Some("http" | "https")) => {}
            Ok(_) => return Err(failed("it is to begin with http:// or https://".into())),
            Err(error) => return Err(failed(error.to_string())),
        }
        let endpoint = if address.ends_with(PATH) { address.to_owned() } else { format!("{address}{PATH}") };
        let exporter = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(endpoint)
            .build()
            .map_err(|error| failed(error.to_string()))?;
        let mut resource = Resource::builder();
        if std::env::var_os("OTEL_SERVICE_NAME").is_none() {
            resource = resource.with_service_name("lathe");
        }
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource.build())
            .build();
        Ok(Self { provider })
    }

    /// Takes the spans of turns, and no others; nothing that is logged is sent.
    pub fn layer<S>(&self) -> impl Layer<S> + Send + Sync + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
    {
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer("lathe"))
            .with_location(false)
            .with_threads(false)
            .with_level(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_context_activation(false)
            .with_filter(filter_fn(|metadata| metadata.is_span() && metadata.target() == "gen_ai"))
    }

    /// Sends what is left. Not to be called from an async task, which it would block for up to 5 s.
    ///
    /// # Errors
    ///
    /// If something could not be sent.
    pub fn close(self) -> Result<(), TelemetryError> {
        self.provider.shutdown().map_err(|error| TelemetryError::Flush(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_none_is_refused() {
        for url in ["localhost:4318", "grpc://localhost", "http://", ""] {
            let error = Exporter::new(url).unwrap_err().to_string();
            assert!(error.starts_with(&format!("traces cannot be sent to {url}: ")), "{error}");
        }
    }
}

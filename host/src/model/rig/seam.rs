//! The transport's seam: the last look at a request, the first at an answer.

use futures::TryStreamExt;
use rig_core::driver::{Exchange, Opening, Transport};
use rig_core::http_client::{Builder, DynHttpClient, HeaderMap, HeaderValue, Uri};
use rig_core::wire::{Encoded, Wire, WireFrame};

use super::super::registry::ProviderKind;
use super::super::{ModelError, ModelErrorKind};
use super::peek::Peek;
use crate::turn::{Json, JsonObject};

/// What the transport alone may say.
const RESERVED: [&str; 4] = ["host", "content-length", "connection", "transfer-encoding"];

/// An HTTP transport that adds the caller's headers and reads along.
#[derive(Clone)]
pub(super) struct Seam {
    http: DynHttpClient,
    headers: HeaderMap,
    peek: Peek,
    kind: ProviderKind,
}

impl Seam {
    /// A seam for one request.
    ///
    /// # Errors
    ///
    /// When a header cannot be sent.
    pub(super) fn new(
        http: DynHttpClient,
        kind: ProviderKind,
        key: Option<&str>,
        extra: &JsonObject,
    ) -> Result<Self, ModelError> {
        let mut headers = HeaderMap::new();
        if let (ProviderKind::Gemini, Some(key)) = (kind, key) {
            let mut value = HeaderValue::from_str(key).map_err(|_| {
                ModelError::new(ModelErrorKind::Auth, "the key holds a character that a header cannot carry")
            })?;
            value.set_sensitive(true);
            headers.insert("x-goog-api-key", value);
        }
        for (name, value) in extra {
            let value = match value {
                Json::Null => continue,
                Json::String(text) => text.clone(),
                other => other.to_string(),
            };
            if RESERVED.contains(&name.to_lowercase().as_str()) {
                continue;
            }
            let built = Builder::new().header(name, value);
            let Some(one) = built.headers_ref() else {
                let message =
                    format!("the header `{name}` cannot be sent: its name or value is not allowed in HTTP");
                return Err(ModelError::new(ModelErrorKind::InvalidRequest, message));
            };
            for (name, value) in one {
                headers.insert(name, value.clone());
            }
        }
        Ok(Self { http, headers, peek: Peek::new(kind), kind })
    }

    /// What is read along.
    pub(super) fn peek(&self) -> Peek {
        self.peek.clone()
    }

    fn dress(&self, payload: &mut Encoded) {
        let request = &mut payload.request;
        if self.kind == ProviderKind::Gemini {
            // rig ends the query with the key, which is empty here.
            let bare = request.uri().to_string();
            let bare = bare.strip_suffix("&key=").or_else(|| bare.strip_suffix("?key=")).unwrap_or(&bare);
            if let Ok(uri) = bare.parse::<Uri>() {
                *request.uri_mut() = uri;
            }
        }
        if request.headers().get("x-api-key").is_some_and(HeaderValue::is_empty) {
            request.headers_mut().remove("x-api-key");
        }
        for (name, value) in &self.headers {
            request.headers_mut().insert(name, value.clone());
        }
    }
}

impl<W> Transport<W> for Seam
where
    W: Wire<Payload = Encoded, Frame = WireFrame>,
{
    fn send(&self, mut payload: Encoded, exchange: Exchange) -> Opening<WireFrame> {
        self.dress(&mut payload);
        let opening = Transport::<W>::send(&self.http, payload, exchange);
        let peek = self.peek.clone();
        Opening::new(async move {
            let opened = opening.await?;
            Ok(opened.map_frames(|frames| frames.inspect_ok(move |frame| peek.read(&frame.as_str()))))
        })
    }
}

//! Failures: what class they are, what the provider said, and nothing that is secret.

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use rig_core::ProviderResponseError;
use rig_core::error::ProviderError;
use rig_core::http_client::{self, HeaderMap};

use super::super::{ModelError, ModelErrorKind};
use crate::turn::Json;

/// Of a body that is not the usual JSON, this much is shown: enough for a proxy's page to be recognised.
const SHOWN: usize = 300;

/// Turns rig's errors into ours.
#[derive(Clone)]
pub(super) struct Failures {
    key: Option<String>,
}

impl Failures {
    pub(super) fn new(key: Option<String>) -> Self {
        Self { key: key.filter(|key| !key.is_empty()) }
    }

    /// The error as the host sees it; `begun` says whether the answer had begun.
    pub(super) fn model_error(&self, error: &ProviderError, begun: bool) -> ModelError {
        let mut failed = match error {
            ProviderError::Truncated => cut_off(),
            ProviderError::Http(error) => transport(error, begun),
            ProviderError::Json(error) => ModelError::new(
                ModelErrorKind::InvalidResponse,
                format!("the answer cannot be read: {error}"),
            ),
            ProviderError::Response(message) => ModelError::new(
                ModelErrorKind::InvalidResponse,
                format!("the answer cannot be read: {message}"),
            ),
            ProviderError::Request(error) => {
                ModelError::new(ModelErrorKind::InvalidRequest, error.to_string())
            }
            ProviderError::UnsupportedOption(option) => {
                ModelError::new(ModelErrorKind::InvalidRequest, option.to_string())
            }
            ProviderError::Url(error) => ModelError::new(ModelErrorKind::InvalidRequest, error.to_string()),
            ProviderError::Provider(message) => ModelError::new(ModelErrorKind::Other, message.clone()),
            other => match other.provider_response() {
                Some(response) => refused(response),
                None => ModelError::new(ModelErrorKind::Other, other.to_string()),
            },
        };
        failed.message = self.redacted(&failed.message);
        failed
    }

    /// The text without the key and without the query of any URL in it.
    pub(super) fn redacted(&self, text: &str) -> String {
        let mut text = without_queries(text);
        if let Some(key) = &self.key {
            text = text.replace(key.as_str(), "(key)");
        }
        text
    }
}

fn cut_off() -> ModelError {
    ModelError::new(ModelErrorKind::Truncated, "the connection ended before the answer did")
}

/// An answer that tells of a failure.
fn refused(response: &ProviderResponseError) -> ModelError {
    let body: Option<Json> = serde_json::from_str(&response.body).ok();
    // An error inside a stream comes with a status of its own at best, not with the 200 before it.
    let status = response.status.map(|status| status.as_u16()).filter(|status| *status >= 300);
    let said = body.as_ref().and_then(message);
    let message = match (said, status) {
        (Some(said), _) => said,
        (None, Some(status)) if response.body.trim().is_empty() => {
            format!("the provider answered with HTTP status {status}")
        }
        (None, _) => excerpt(&response.body),
    };
    let kind = match status {
        Some(status) => ModelError::kind_of_status(status),
        None => match response.machine_code().or_else(|| code(body.as_ref()?)) {
            Some(code) => kind_of_code(&code),
            None if response.is_retryable() => ModelErrorKind::Unavailable,
            None => ModelErrorKind::Other,
        },
    };
    let retry_after_ms =
        response.headers.as_ref().and_then(retry_after).or_else(|| body.as_ref().and_then(retry_info));
    ModelError { kind, message, status, retry_after_ms }
}

/// The class that a provider's own word for an error stands for.
fn kind_of_code(code: &str) -> ModelErrorKind {
    match code.to_lowercase().as_str() {
        "rate_limit_error" | "rate_limit_exceeded" | "resource_exhausted" | "insufficient_quota" => {
            ModelErrorKind::RateLimit
        }
        "overloaded_error" | "api_error" | "server_error" | "timeout_error" | "unavailable" | "internal"
        | "other" => ModelErrorKind::Unavailable,
        "authentication_error"
        | "permission_error"
        | "invalid_api_key"
        | "unauthenticated"
        | "permission_denied" => ModelErrorKind::Auth,
        "invalid_request_error"
        | "not_found_error"
        | "request_too_large"
        | "invalid_prompt"
        | "invalid_argument"
        | "context_length_exceeded" => ModelErrorKind::InvalidRequest,
        _ => ModelErrorKind::Other,
    }
}

/// The provider's own words, where its kind of JSON has them.
fn message(body: &Json) -> Option<String> {
    let body = body.get(0).unwrap_or(body);
    let places = ["/error/message", "/error", "/message", "/detail", "/response/error/message"];
    let said = places.iter().find_map(|place| body.pointer(place).and_then(Json::as_str));
    said.map(str::trim).filter(|said| !said.is_empty()).map(str::to_owned)
}

/// Where Responses writes the class of a failure.
fn code(body: &Json) -> Option<String> {
    let found = ["/code", "/response/error/code"].iter().find_map(|place| body.pointer(place)?.as_str());
    found.map(str::to_owned)
}

fn excerpt(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// No answer, or the end of one.
fn transport(error: &http_client::Error, begun: bool) -> ModelError {
    if begun {
        return cut_off();
    }
    match error {
        http_client::Error::InvalidContentType(found) => {
            let found = found.to_str().unwrap_or_default();
            let found = if found.is_empty() { "nothing" } else { found };
            let message = format!("the provider answered with {found} where an event stream was expected");
            ModelError::new(ModelErrorKind::InvalidResponse, message)
        }
        http_client::Error::Instance(cause) => {
            // The outermost text names the whole URL; the causes say what happened.
            let mut causes = Vec::new();
            let mut next = cause.source();
            while let Some(cause) = next {
                let text = cause.to_string();
                if causes.last() != Some(&text) {
                    causes.push(text);
                }
                next = cause.source();
            }
            let causes = if causes.is_empty() { cause.to_string() } else { causes.join(": ") };
            ModelError::new(
                ModelErrorKind::Unavailable,
                format!("the connection to the provider failed: {causes}"),
            )
        }
        http_client::Error::StreamEnded => cut_off(),
        other => ModelError::new(ModelErrorKind::InvalidRequest, other.to_string()),
    }
}

/// How long the headers ask to wait: in milliseconds, in seconds, or until a date.
fn retry_after(headers: &HeaderMap) -> Option<u64> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let whole = |value: f64| std::time::Duration::try_from_secs_f64(value).ok();
    let millis = |time: std::time::Duration| u64::try_from(time.as_millis()).ok();
    if let Some(wait) =
        text("retry-after-ms").and_then(|wait| wait.parse::<f64>().ok()).and_then(|wait| whole(wait / 1e3))
    {
        return millis(wait);
    }
    let wait = text("retry-after")?;
    if let Some(wait) = wait.parse().ok().and_then(whole) {
        return millis(wait);
    }
    let until = date(wait)?;
    // By the provider's own clock, if it tells it: ours may be wrong.
    let now = text("date").and_then(date).unwrap_or_else(Timestamp::now);
    let wait = until.as_millisecond().saturating_sub(now.as_millisecond());
    Some(u64::try_from(wait).unwrap_or_default())
}

fn date(text: &str) -> Option<Timestamp> {
    rfc2822::parse(text).ok().map(|date| date.timestamp())
}

/// Google writes the wait into the body: `"retryDelay": "37s"`.
fn retry_info(body: &Json) -> Option<u64> {
    let body = body.get(0).unwrap_or(body);
    let details = body.pointer("/error/details")?.as_array()?;
    let wait = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str()?.strip_suffix('s'))?;
    let wait = std::time::Duration::try_from_secs_f64(wait.parse().ok()?).ok()?;
    u64::try_from(wait.as_millis()).ok()
}

fn without_queries(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, url) = rest.split_at(at + 3);
        out.push_str(before);
        let end = url.find(|c: char| c.is_whitespace() || "\"'`()<>".contains(c)).unwrap_or(url.len());
        let (url, after) = url.split_at(end);
        out.push_str(url.split('?').next().unwrap_or_default());
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use rig_core::http_client::StatusCode;
    use serde_json::json;

    use super::*;

    fn error(status: u16, headers: &[(&'static str, &str)], body: &str) -> ModelError {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        let error = ProviderError::from_http_response(StatusCode::from_u16(status).unwrap(), body)
            .with_response_headers(Some(map));
        Failures::new(Some("sk-1234".into())).model_error(&error, false)
    }

    #[test]
    fn the_providers_own_words_are_shown() {
        for (body, said) in [
            (json!({"error": {"message": "No such model", "type": "x"}}).to_string(), "No such model"),
            (json!([{"error": {"message": "API key not valid"}}]).to_string(), "API key not valid"),
            (json!({"error": "model 'x' not found"}).to_string(), "model 'x' not found"),
            (json!({"detail": "Not Found"}).to_string(), "Not Found"),
            ("<html>Bad gateway</html>".into(), "<html>Bad gateway</html>"),
            (String::new(), "the provider answered with HTTP status 404"),
        ] {
            let error = error(404, &[], &body);
            assert_eq!((error.kind, error.message.as_str()), (ModelErrorKind::InvalidRequest, said));
        }
        assert_eq!(error(500, &[], &"é".repeat(1000)).message.chars().count(), SHOWN + 1);
    }

    #[test]
    fn secrets_are_not() {
        let said = error(
            401,
            &[],
            r#"{"error":{"message":"bad key sk-1234 at https://x/y?key=sk-1234&a=1 (see docs)"}}"#,
        );
        assert_eq!(said.message, "bad key (key) at https://x/y (see docs)");
    }

    #[test]
    fn the_wait_is_read_in_every_spelling() {
        let date = ("date", "Fri, 20 Nov 2026 10:00:00 GMT");
        for (headers, body, wait) in [
            (vec![("retry-after", "2")], "", Some(2000)),
            (vec![("retry-after", "0.5")], "", Some(500)),
            (vec![("retry-after-ms", "120"), ("retry-after", "2")], "", Some(120)),
            (vec![("retry-after", "Fri, 20 Nov 2026 10:01:30 GMT"), date], "", Some(90_000)),
            (vec![("retry-after", "Fri, 20 Nov 2026 09:00:00 GMT"), date], "", Some(0)),
            (vec![("retry-after", "soon")], "", None),
            (vec![("retry-after", "-1")], "", None),
            (vec![], r#"{"error":{"details":[{},{"retryDelay":"37.5s"}]}}"#, Some(37_500)),
        ] {
            let error = error(429, &headers, body);
            assert_eq!(
                (error.kind, error.status, error.retry_after_ms),
                (ModelErrorKind::RateLimit, Some(429), wait)
            );
        }
    }

    #[test]
    fn an_error_inside_a_stream_is_classed_by_its_code() {
        let kind =
            |body: &str| Failures::new(None).model_error(&ProviderError::from_provider_body(body), true).kind;
        assert_eq!(
            kind(r#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#),
            ModelErrorKind::Unavailable
        );
        assert_eq!(kind(r#"{"error":{"code":"rate_limit_exceeded"}}"#), ModelErrorKind::RateLimit);
        assert_eq!(kind(r#"{"error":{"type":"invalid_request_error"}}"#), ModelErrorKind::InvalidRequest);
        assert_eq!(kind("what?"), ModelErrorKind::Other);
    }
}

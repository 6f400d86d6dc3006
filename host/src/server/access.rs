//! Who may come in.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::Query;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, Uri, header};
use sha2::{Digest, Sha256};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

pub(super) use super::token::Caller;
use super::token::{Held, Token};

/// Where a browser says that a request comes from.
pub(super) const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// What a client must show.
#[derive(Clone, Debug, Default)]
pub(super) struct Access {
    /// Any of them; none for nothing.
    tokens: Vec<Held>,
    origins: Vec<String>,
    /// The server listens for this machine alone.
    loopback: bool,
}

pub(super) type Refusal = (StatusCode, &'static str);

impl Access {
    pub(super) fn token(mut self, token: Token) -> Self {
        self.tokens.push(Held::new(token));
        self
    }

    pub(super) fn origin(mut self, origin: &str) -> Self {
        self.origins.push(origin.trim_end_matches('/').to_ascii_lowercase());
        self
    }

    /// Where the server listens.
    pub(super) fn on(mut self, address: SocketAddr) -> Self {
        self.loopback = address.ip().is_loopback();
        self
    }

    /// Whether anybody anywhere could come in.
    pub(super) fn is_open_to_all(&self) -> bool {
        !self.loopback && self.tokens.is_empty()
    }

    /// Whether the server may be called by that name. A page whose name points at this machine is not of this machine.
    pub(super) fn host(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        if self.loopback
            && self.tokens.is_empty()
            && !is_loopback(text(headers, header::HOST).unwrap_or_default())
        {
            return Err((StatusCode::FORBIDDEN, "this server is for this machine alone; call it localhost"));
        }
        Ok(())
    }

    pub(super) fn check(&self, headers: &HeaderMap, uri: &Uri) -> Result<Caller, Refusal> {
        self.host(headers)?;
        let text = |name| text(headers, name);
        let host = text(header::HOST).unwrap_or_default();
        if headers.contains_key(header::ORIGIN)
            && !self.lets_in(text(header::ORIGIN).unwrap_or_default(), host)
        {
            return Err((StatusCode::FORBIDDEN, "web pages of that origin are not let in"));
        }
        // What a page elsewhere embeds comes without its origin.
        if !headers.contains_key(header::ORIGIN) && text(SITE) == Some("cross-site") {
            return Err((StatusCode::FORBIDDEN, "web pages from elsewhere may not embed this"));
        }
        if self.tokens.is_empty() {
            return Ok(Caller::new(None));
        }
        let bearer = text(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        let query = uri.query().into_iter().flat_map(|query| query.split('&'));
        let raw = query.filter_map(|pair| pair.strip_prefix("token="));
        // A token with other signs than letters comes encoded from who encodes.
        let decoded = Query::<Vec<(String, String)>>::try_from_uri(uri).map(|Query(pairs)| pairs);
        let decoded = decoded.unwrap_or_default();
        let decoded = decoded.iter().filter(|(name, _)| name == "token").map(|(_, value)| &**value);
        let mut digests =
            bearer.into_iter().chain(raw).chain(decoded).map(|token| <[u8; 32]>::from(Sha256::digest(token)));
        let known = digests.find_map(|digest| self.tokens.iter().find(|held| held.is(&digest)));
        known.map(|held| Caller::new(Some(held.clone()))).ok_or((
            StatusCode::UNAUTHORIZED,
            "a token is needed: Authorization: Bearer TOKEN, or ?token=TOKEN",
        ))
    }

    /// Lets pages of those origins read what they are answered, and send what needs to be asked for first: a JSON body, a
    /// token. Cookies are none of it.
    pub(super) fn cors(self: Arc<Self>) -> CorsLayer {
        let origins = AllowOrigin::predicate(move |origin, request| {
            let host = request.headers.get(header::HOST).and_then(|host| host.to_str().ok());
            origin.to_str().is_ok_and(|origin| self.lets_in(origin, host.unwrap_or_default()))
        });
        CorsLayer::new()
            .allow_origin(origins)
            .allow_methods([Method::GET, Method::POST])
            .allow_headers(AllowHeaders::mirror_request())
    }

    /// Whether a page of that origin may call the server at `host`.
    fn lets_in(&self, origin: &str, host: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        let Some((_, page)) = origin.split_once("://") else { return false };
        page.eq_ignore_ascii_case(host)
            || self.origins.contains(&origin)
            || self.loopback && is_loopback(page)
    }
}

/// Whether the page that asks is the server's own, or it is no page: as the browser says, or else by its origin.
pub(super) fn is_own(headers: &HeaderMap) -> bool {
    if let Some(site) = headers.get(SITE) {
        return site == "same-origin" || site == "none";
    }
    if !headers.contains_key(header::ORIGIN) {
        return true;
    }
    let page = text(headers, header::ORIGIN).and_then(|origin| origin.split_once("://"));
    page.is_some_and(|(_, page)| {
        text(headers, header::HOST).is_some_and(|host| page.eq_ignore_ascii_case(host))
    })
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// Whether `HOST` or `HOST:PORT` names this machine.
fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(access: &Access, headers: &[(&'static str, &str)], uri: &str) -> u16 {
        let headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        let checked = access.check(&headers.collect(), &uri.parse().unwrap());
        checked.err().map_or(200, |(status, _)| status.as_u16())
    }

    #[test]
    fn pages_from_elsewhere_do_not_reach_a_server_on_this_machine() {
        let access = Access::default().on("127.0.0.1:8787".parse().unwrap());
        for (headers, status) in [
            (&[("host", "127.0.0.1:8787")][..], 200),
            (&[("host", "[::1]:8787"), ("origin", "http://localhost:5173")], 200),
            (&[("host", "localhost:8787"), ("origin", "https://evil.example")], 403),
            (&[("host", "localhost:8787"), ("origin", "null")], 403),
            (&[("host", "localhost:8787"), ("origin", "http://localhost.evil.example")], 403),
            (&[("host", "LOCALHOST:8787"), ("origin", "HTTP://[::1]:5173")], 200),
            (&[("host", "rebound.example:8787")], 403),
            (&[("host", "rebound.example:8787"), ("origin", "http://rebound.example:8787")], 403),
            (&[("host", "localhost.:8787")], 403),
            (&[("host", "localhost:8787:8787")], 403),
            (&[("host", "localhost@evil.example")], 403),
            (&[("host", "127.0.0.1.evil.example")], 403),
            (&[("host", "")], 403),
            (&[], 403),
            (&[("host", "localhost:8787"), ("origin", "localhost:8787")], 403),
            (&[("host", "localhost:8787"), ("origin", "")], 403),
            // An image or a script of a page elsewhere, an address that is typed, a page on another port.
            (&[("host", "localhost:8787"), ("sec-fetch-site", "cross-site")], 403),
            (&[("host", "localhost:8787"), ("sec-fetch-site", "none")], 200),
            (&[("host", "localhost:8787"), ("sec-fetch-site", "same-site")], 200),
        ] {
            assert_eq!(check(&access, headers, "/"), status, "{headers:?}");
        }
    }

    #[test]
    fn elsewhere_a_token_is_needed_and_an_origin_must_be_known() {
        let access = Access::default().on("0.0.0.0:80".parse().unwrap());
        let access = access.token(Token::new("s3cret")).token(Token::new("other"));
        let access = access.token(Token::new("a+b/c="));
        let access = access.origin("https://chat.example.org/");
        let host = ("host", "lathe.example.org");
        for (headers, uri, status) in [
            (&[host][..], "/", 401),
            (&[host, ("authorization", "Bearer wrong")], "/", 401),
            (&[host, ("authorization", "Bearer s3cret")], "/", 200),
            (&[host, ("authorization", "Bearer other")], "/", 200),
            (&[host], "/a?_pk=1&token=s3cret", 200),
            (&[host], "/a?token=a%2Bb%2Fc%3D", 200),
            (&[host], "/a?token=a+b/c=", 200),
            (&[host], "/a?token=s3cretx", 401),
            (&[host], "/a?token", 401),
            (&[host], "/a?token=&token=%", 401),
            (&[host, ("authorization", "bearer")], "/", 401),
            (&[host, ("origin", "https://lathe.example.org")], "/?token=s3cret", 200),
            (&[host, ("origin", "https://chat.example.org")], "/?token=s3cret", 200),
            (&[host, ("origin", "http://localhost")], "/?token=s3cret", 403),
        ] {
            assert_eq!(check(&access, headers, uri), status, "{headers:?} {uri}");
        }
    }
}

//! Base URLs: checked once, before a key is sent there.

use std::net::IpAddr;

/// A base URL that can be used: http or https, a host, no query, no credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::model) struct Address {
    url: String,
    host: String,
    port: Option<u16>,
}

impl Address {
    /// Reads a base URL; the error says in words what is wrong with it.
    pub(in crate::model) fn parse(url: &str) -> Result<Self, &'static str> {
        let (scheme, rest) = url.split_once("://").ok_or("it must begin with http:// or https://")?;
        if scheme != "http" && scheme != "https" {
            return Err("it must begin with http:// or https://");
        }
        if url.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err("it holds a blank");
        }
        if url.contains(['?', '#']) {
            return Err("it must not hold a query");
        }
        let authority = rest.split('/').next().unwrap_or_default();
        if authority.contains('@') {
            return Err("it must not hold a user or password: a key is read from its variable");
        }
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, Some(port.parse().map_err(|_| "its port is not a number below 65536")?))
            }
            _ => (authority, None),
        };
        if host.is_empty() {
            return Err("it has no host");
        }
        Ok(Self { url: url.trim_end_matches('/').to_owned(), host: host.to_lowercase(), port })
    }

    /// The URL as it may be shown: without credentials and query.
    pub(in crate::model) fn shown(url: &str) -> String {
        let url = url.split(['?', '#']).next().unwrap_or_default();
        match url.split_once("://") {
            Some((scheme, rest)) => {
                let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                let host = authority.rsplit('@').next().unwrap_or_default();
                format!("{scheme}://{host}{path}")
            }
            None => url.rsplit('@').next().unwrap_or_default().to_owned(),
        }
    }

    /// Whether only this machine is there.
    pub(in crate::model) fn is_loopback(&self) -> bool {
        let host = self.host.trim_matches(['[', ']']);
        host == "localhost"
            || host.ends_with(".localhost")
            || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// The URL, with no slash at its end.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// The URL without `suffix`, which the protocol's own paths begin with.
    pub(super) fn without(&self, suffix: &str) -> &str {
        self.url.strip_suffix(suffix).unwrap_or(&self.url)
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) fn port(&self) -> Option<u16> {
        self.port
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_http_urls_pass() {
        for (url, host, loopback) in [
            ("https://api.openai.com/v1/", "api.openai.com", false),
            ("http://LOCALHOST:11434/v1", "localhost", true),
            ("http://127.0.0.1:1", "127.0.0.1", true),
            ("http://[::1]:1/v1", "[::1]", true),
            ("http://10.0.0.1", "10.0.0.1", false),
        ] {
            let address = Address::parse(url).unwrap();
            assert_eq!((address.host(), address.is_loopback()), (host, loopback), "{url}");
            assert!(!address.url().ends_with('/'));
        }
        for url in [
            "",
            "api.openai.com",
            "ftp://x",
            "http://",
            "http://a b",
            "http://a?key=1",
            "http://u:p@a",
            "http://a:x",
        ] {
            assert!(Address::parse(url).is_err(), "{url}");
        }
    }

    #[test]
    fn what_is_shown_holds_no_secret() {
        for (url, shown) in
            [("http://u:secret@a/b?key=secret", "http://a/b"), ("u:secret@a", "a"), ("http://a", "http://a")]
        {
            assert_eq!(Address::shown(url), shown);
        }
    }
}

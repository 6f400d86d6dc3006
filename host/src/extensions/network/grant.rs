use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::host::HostPattern;

/// The largest request body, unless set: 4 MiB, as much as a guest may answer with.
const REQUEST_BYTES: u64 = 4 << 20;

/// The largest response body, unless set: 16 MiB, a large page with room to spare.
const RESPONSE_BYTES: u64 = 16 << 20;

/// Hosts that an extension may reach, and how: an entry of `network` under `[extension.NAME.grant]`. A text stands for
/// the host alone, with everything else as it is by default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, remote = "Self")]
pub struct HostGrant {
    /// Which.
    pub host: HostPattern,
    /// The methods that may be used. Default: GET, HEAD, POST, PUT, PATCH, DELETE and OPTIONS.
    #[serde(default = "common_methods")]
    pub methods: Vec<Method>,
    /// The ports. Default: that of the scheme, 443 or 80.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<u16>,
    /// Also without TLS. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub http: bool,
    /// Also if it is this machine or in a private network. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub private: bool,
    /// Addresses that it may have though they are not public.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<IpAddr>,
    /// Headers that the host adds and the extension never sees, such as `authorization`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<HeaderName, SecretHeader>,
    /// The largest request body, in bytes. Default: 4 MiB.
    #[serde(default = "request_bytes")]
    pub request_bytes: u64,
    /// The largest response body, in bytes. Default: 16 MiB.
    #[serde(default = "response_bytes")]
    pub response_bytes: u64,
}

/// A header's value, taken from the host's environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SecretHeader {
    /// The environment variable.
    pub env: String,
    /// What stands before its value, such as `Bearer `.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prefix: String,
}

impl HostGrant {
    /// A host with the defaults.
    #[must_use]
    pub fn new(host: HostPattern) -> Self {
        Self {
            host,
            methods: common_methods(),
            ports: Vec::new(),
            http: false,
            private: false,
            addresses: Vec::new(),
            headers: BTreeMap::new(),
            request_bytes: request_bytes(),
            response_bytes: response_bytes(),
        }
    }
}

fn common_methods() -> Vec<Method> {
    use http::Method as M;
    [M::GET, M::HEAD, M::POST, M::PUT, M::PATCH, M::DELETE, M::OPTIONS].map(Method).into()
}

fn request_bytes() -> u64 {
    REQUEST_BYTES
}

fn response_bytes() -> u64 {
    RESPONSE_BYTES
}

// `remote` above has made functions of the type out of the derives; these are the traits.

impl Serialize for HostGrant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for HostGrant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrTable;
        impl<'de> Visitor<'de> for TextOrTable {
            type Value = HostGrant;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a host in quotes or a table with `host`")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<HostGrant, E> {
                text.parse().map(HostGrant::new).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<HostGrant, A::Error> {
                HostGrant::deserialize(MapAccessDeserializer::new(map))
            }
        }
        deserializer.deserialize_any(TextOrTable)
    }
}

/// A method of HTTP, in any case. Not CONNECT: a tunnel would lead past every rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Method(pub(super) http::Method);

impl TryFrom<String> for Method {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match http::Method::from_bytes(text.to_ascii_uppercase().as_bytes()) {
            Ok(http::Method::CONNECT) => Err("CONNECT cannot be granted".into()),
            Ok(method) => Ok(Self(method)),
            Err(_) => Err(format!("\"{text}\" is no HTTP method")),
        }
    }
}

impl From<Method> for String {
    fn from(method: Method) -> Self {
        method.0.to_string()
    }
}

/// The name of a header that the host may add: none that belongs to the connection.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HeaderName(String);

impl HeaderName {
    pub(super) fn parse(&self) -> Option<http::HeaderName> {
        self.0.parse().ok()
    }
}

impl TryFrom<String> for HeaderName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.parse::<http::HeaderName>() {
            Ok(name) if super::outgoing::is_forbidden(&name) => {
                Err(format!("the header \"{name}\" cannot be set: it belongs to the connection"))
            }
            Ok(name) => Ok(Self(name.as_str().to_owned())),
            Err(_) => Err(format!("\"{text}\" is no name of a header")),
        }
    }
}

impl From<HeaderName> for String {
    fn from(name: HeaderName) -> Self {
        name.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Entry {
        network: Vec<HostGrant>,
    }

    fn read(entry: &str) -> Result<HostGrant, String> {
        let read: Result<Entry, _> = toml::from_str(&format!("network = [{entry}]"));
        read.map(|mut entry| entry.network.remove(0)).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn a_text_and_a_table_say_the_same() {
        assert_eq!(read("\"a.org\"").unwrap(), read("{ host = \"a.org\" }").unwrap());
        let entry = read(
            "{ host = \"*.a.org\", methods = [\"get\"], ports = [8443], http = true, private = true, \
             addresses = [\"::1\"], headers = { X-Key = { env = \"KEY\" } }, request-bytes = 1, response-bytes = 2 }",
        )
        .unwrap();
        assert_eq!(entry.methods, [Method(http::Method::GET)]);
        assert_eq!(entry.headers.keys().next().unwrap().0, "x-key");
        assert_eq!((entry.request_bytes, entry.response_bytes), (1, 2));
        let entries = Entry { network: vec![entry] };
        assert_eq!(toml::from_str::<Entry>(&toml::to_string(&entries).unwrap()).unwrap(), entries);
    }

    #[test]
    fn mistakes_are_named() {
        for (entry, said) in [
            ("7", "invalid type: integer `7`, expected a host in quotes or a table with `host`"),
            (
                "\"http://a.org\"",
                "\"http://a.org\" is no host: only the name belongs here, without scheme and path",
            ),
            ("{}", "missing field `host`"),
            ("{ host = \"a:1\" }", "\"a:1\" is no host: a port belongs under `ports`"),
            ("{ host = \"a\", methods = [\"connect\"] }", "CONNECT cannot be granted"),
            ("{ host = \"a\", methods = [\"G T\"] }", "\"G T\" is no HTTP method"),
            (
                "{ host = \"a\", headers = { Host = { env = \"X\" } } }",
                "the header \"host\" cannot be set: it belongs to the connection",
            ),
            ("{ host = \"a\", headers = { \"a b\" = { env = \"X\" } } }", "\"a b\" is no name of a header"),
            ("{ host = \"a\", addresses = [\"1.2.3\"] }", "invalid IP address syntax"),
        ] {
            assert_eq!(read(entry).unwrap_err().trim_end(), said);
        }
    }
}

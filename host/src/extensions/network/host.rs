use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Which hosts: a name, an IP address, `*.example.org` for every name below one, or `*` for every host.
///
/// Read from text, in any case; IPv6 addresses with or without brackets. Names outside ASCII are written as the network
/// has them (`xn--…`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostPattern(Pattern);

// In the order in which rules are asked: the most exact first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Pattern {
    Address(IpAddr),
    Name(String),
    Below(String),
    Any,
}

/// Names of hosts have at most so many bytes (RFC 1035).
const NAME: usize = 253;

impl HostPattern {
    /// Whether a host is meant. `host` is in lower case, IPv6 addresses without brackets.
    #[must_use]
    pub fn matches(&self, host: &str) -> bool {
        match &self.0 {
            Pattern::Address(address) => host.parse() == Ok(*address),
            Pattern::Name(name) => host == name,
            Pattern::Below(name) => {
                host.strip_suffix(&**name).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
            Pattern::Any => true,
        }
    }

    /// Whether every host that `other` means is meant.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Pattern::Any, _) => true,
            (Pattern::Below(above), Pattern::Below(name)) => above == name || self.matches(name),
            (Pattern::Below(_), Pattern::Name(name)) => self.matches(name),
            (one, other) => one == other,
        }
    }

    /// How exact it is: the smaller, the more.
    pub(super) fn rank(&self) -> (u8, usize) {
        match &self.0 {
            Pattern::Address(_) | Pattern::Name(_) => (0, 0),
            // More labels are more exact.
            Pattern::Below(name) => (1, usize::MAX - name.len()),
            Pattern::Any => (2, 0),
        }
    }

    /// The address, if it names one.
    pub(super) fn address(&self) -> Option<IpAddr> {
        match self.0 {
            Pattern::Address(address) => Some(address),
            _ => None,
        }
    }
}

impl FromStr for HostPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unusable = |why: &str| Err(format!("\"{text}\" is no host: {why}"));
        let lower = text.to_ascii_lowercase();
        if lower == "*" {
            return Ok(Self(Pattern::Any));
        }
        let bare = lower.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(&lower);
        if let Ok(address) = bare.parse() {
            return Ok(Self(Pattern::Address(address)));
        }
        if lower.contains("://") || lower.contains('/') {
            return unusable("only the name belongs here, without scheme and path");
        }
        if lower.contains(':') {
            return unusable("a port belongs under `ports`");
        }
        let (below, name) = lower.strip_prefix("*.").map_or((false, &*lower), |name| (true, name));
        let word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let labels = name.split('.').all(|label| !label.is_empty() && label.chars().all(word));
        if !labels || name.len() > NAME {
            return unusable("expected a name such as api.example.org, *.example.org, an IP address, or *");
        }
        Ok(Self(if below { Pattern::Below(name.to_owned()) } else { Pattern::Name(name.to_owned()) }))
    }
}

impl TryFrom<String> for HostPattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<HostPattern> for String {
    fn from(host: HostPattern) -> Self {
        host.to_string()
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Pattern::Address(address) => address.fmt(f),
            Pattern::Name(name) => f.write_str(name),
            Pattern::Below(name) => write!(f, "*.{name}"),
            Pattern::Any => f.write_str("*"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> HostPattern {
        text.parse().unwrap()
    }

    #[test]
    fn a_host_is_meant_or_not() {
        for (text, host, meant) in [
            ("api.example.org", "api.example.org", true),
            ("API.example.ORG", "api.example.org", true),
            ("example.org", "api.example.org", false),
            ("example.org", "example.org.", false),
            ("example.org", "example.org.evil.net", false),
            ("*.example.org", "api.example.org", true),
            ("*.example.org", "a.b.example.org", true),
            ("*.example.org", "example.org", false),
            ("*.example.org", ".example.org", false),
            ("*.example.org", "evilexample.org", false),
            ("*", "anything.net", true),
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "127.1", false),
            ("[::1]", "::1", true),
            ("::1", "0:0:0:0:0:0:0:1", true),
            ("::1", "::2", false),
        ] {
            assert_eq!(pattern(text).matches(host), meant, "{text} {host}");
        }
    }

    #[test]
    fn what_is_no_host_is_refused_with_a_reason() {
        for (text, why) in [
            ("", "expected a name"),
            ("https://example.org", "without scheme"),
            ("example.org/x", "without scheme and path"),
            ("example.org:8080", "under `ports`"),
            ("exam ple.org", "expected a name"),
            ("*.*", "expected a name"),
            ("a.*.org", "expected a name"),
            ("user@example.org", "expected a name"),
            (".example.org", "expected a name"),
            ("example.org.", "expected a name"),
            ("müller.de", "expected a name"),
            (&"a".repeat(254), "expected a name"),
        ] {
            let error = text.parse::<HostPattern>().unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn one_pattern_covers_another_or_not() {
        for (one, other, covers) in [
            ("*", "*", true),
            ("*", "*.x.org", true),
            ("*.x.org", "*", false),
            ("*.x.org", "*.x.org", true),
            ("*.x.org", "*.y.x.org", true),
            ("*.x.org", "a.x.org", true),
            ("*.x.org", "x.org", false),
            ("a.x.org", "*.x.org", false),
            ("*.y.x.org", "*.x.org", false),
            ("10.0.0.1", "10.0.0.1", true),
        ] {
            assert_eq!(pattern(one).covers(&pattern(other)), covers, "{one} {other}");
        }
    }

    #[test]
    fn it_reads_what_it_writes() {
        for text in ["*", "*.example.org", "example.org", "::1", "10.0.0.1"] {
            assert_eq!(pattern(text).to_string(), text);
        }
    }
}

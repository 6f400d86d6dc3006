use std::net::IpAddr;

use http::uri::Scheme;
use http::{HeaderMap, HeaderValue, Uri};

use super::address::{Kind, kind};
use super::grant::HostGrant;
use super::host::HostPattern;

/// What an extension may reach: what it asks for, as far as the operator grants it.
#[derive(Debug, Default)]
pub(crate) struct Policy {
    asked: Vec<HostPattern>,
    /// The most exact first.
    rules: Vec<Rule>,
}

/// A grant, with its secrets read.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) grant: HostGrant,
    /// What is added to each request; an error is the variable that is not set.
    secrets: Result<HeaderMap, String>,
}

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// In lower case, IPv6 addresses without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) tls: bool,
}

/// Why a request may not go out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("it has no usable host")]
    NoHost,
    #[error("its port is no number from 0 to 65535")]
    NoPort,
    #[error("its address names a user")]
    User,
    #[error("it did not ask for the host {0}")]
    NotAsked(String),
    #[error("the host {0} is not granted")]
    Host(String),
    #[error("{host} is not granted with the method {method}")]
    Method { host: String, method: http::Method },
    #[error("{host} is not granted without TLS")]
    Plain { host: String },
    #[error("{host} is not granted with the port {port}")]
    Port { host: String, port: u16 },
    #[error("{host} is {address}, {kind}, and that is not granted")]
    Address { host: String, address: IpAddr, kind: &'static str },
    #[error("a header for {host} needs the environment variable {variable}, which is not set or no header")]
    Secret { host: String, variable: String },
    #[error("a secret header goes to {host} with TLS alone")]
    PlainSecret { host: String },
}

impl Target {
    pub(super) fn of(uri: &Uri) -> Result<Self, Refusal> {
        let authority = uri.authority().ok_or(Refusal::NoHost)?;
        if authority.as_str().contains('@') {
            return Err(Refusal::User);
        }
        let tls = uri.scheme() != Some(&Scheme::HTTP);
        let host = authority.host().to_ascii_lowercase();
        let host = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(&host);
        // Brackets that are not around the whole of it are part of no name.
        if host.is_empty() || host.contains(['[', ']']) {
            return Err(Refusal::NoHost);
        }
        // A port that does not parse is not the default one.
        let port = match authority.port() {
            None if authority.as_str() != authority.host() => return Err(Refusal::NoPort),
            None => {
                if tls {
                    443
                } else {
                    80
                }
            }
            Some(port) => port.as_u16(),
        };
        Ok(Self { host: host.to_owned(), port, tls })
    }
}

impl Policy {
    /// `variable` reads the host's environment, for secret headers.
    pub(crate) fn new(
        asked: &[HostPattern],
        granted: &[HostGrant],
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let rule = |grant: &HostGrant| Rule { grant: grant.clone(), secrets: secrets(grant, variable) };
        let mut rules: Vec<Rule> = granted.iter().map(rule).collect();
        rules.sort_by_key(|rule| rule.grant.host.rank());
        Self { asked: asked.to_vec(), rules }
    }

    /// The rule under which a request may go out. Of the rules for its host, those of the most exact pattern count, so
    /// that what is narrow is not widened by a `*` beside it.
    pub(super) fn check(&self, method: &http::Method, target: &Target) -> Result<&Rule, Refusal> {
        let Target { host, port, tls } = target;
        let host = || host.clone();
        if !self.asked.iter().any(|pattern| pattern.matches(&target.host)) {
            return Err(Refusal::NotAsked(host()));
        }
        let mut rules = self.rules.iter().filter(|rule| rule.grant.host.matches(&target.host)).peekable();
        let rank = rules.peek().map(|rule| rule.grant.host.rank());
        let mut refusal = Refusal::Host(host());
        for rule in rules.take_while(|rule| Some(rule.grant.host.rank()) == rank) {
            let HostGrant { methods, ports, http, .. } = &rule.grant;
            let standard = if *tls { 443 } else { 80 };
            refusal = if !methods.iter().any(|granted| granted.0 == *method) {
                Refusal::Method { host: host(), method: method.clone() }
            } else if !tls && !http {
                Refusal::Plain { host: host() }
            } else if if ports.is_empty() { *port != standard } else { !ports.contains(port) } {
                Refusal::Port { host: host(), port: *port }
            } else if let Err(variable) = &rule.secrets {
                Refusal::Secret { host: host(), variable: variable.clone() }
            } else {
                return Ok(rule);
            };
        }
        Err(refusal)
    }
}

impl Rule {
    /// Whether the host may have these addresses. One that it may not have spoils the others: a name with an inner
    /// address beside a public one is what an attack looks like.
    pub(super) fn check_addresses(&self, target: &Target, addresses: &[IpAddr]) -> Result<(), Refusal> {
        let host = || target.host.clone();
        for &address in addresses {
            let address = address.to_canonical();
            let listed = self.grant.host.address().into_iter().chain(self.grant.addresses.iter().copied());
            let allowed = match kind(address) {
                Kind::Public => Ok(()),
                Kind::Private(_) if self.grant.private => Ok(()),
                Kind::Private(kind) | Kind::Reserved(kind) => Err(kind),
            };
            if let Err(kind) = allowed
                && !listed.map(|listed| listed.to_canonical()).any(|listed| listed == address)
            {
                return Err(Refusal::Address { host: host(), address, kind });
            }
            if !target.tls && !address.is_loopback() && !self.secrets().is_empty() {
                return Err(Refusal::PlainSecret { host: host() });
            }
        }
        Ok(())
    }

    /// The headers that the host adds.
    pub(super) fn secrets(&self) -> HeaderMap {
        self.secrets.clone().unwrap_or_default()
    }
}

fn secrets(grant: &HostGrant, variable: &dyn Fn(&str) -> Option<String>) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, secret) in &grant.headers {
        let value = variable(&secret.env).filter(|value| !value.is_empty());
        let value = value.and_then(|value| HeaderValue::try_from(format!("{}{value}", secret.prefix)).ok());
        let (Some(name), Some(mut value)) = (name.parse(), value) else { return Err(secret.env.clone()) };
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(asked: &[&str], granted: &str) -> Policy {
        #[derive(serde::Deserialize)]
        struct Section {
            network: Vec<HostGrant>,
        }
        let asked: Vec<HostPattern> = asked.iter().map(|host| host.parse().unwrap()).collect();
        let section: Section = toml::from_str(&format!("network = [{granted}]")).unwrap();
        let environment = |name: &str| (name == "TOKEN").then(|| "s3cret".to_owned());
        Policy::new(&asked, &section.network, &environment)
    }

    fn check(policy: &Policy, method: &str, uri: &str) -> String {
        let target = match Target::of(&uri.parse().unwrap()) {
            Ok(target) => target,
            Err(refusal) => return refusal.to_string(),
        };
        match policy.check(&method.parse().unwrap(), &target) {
            Ok(rule) => format!("as {}", rule.grant.host),
            Err(refusal) => refusal.to_string(),
        }
    }

    #[test]
    fn a_request_goes_out_or_not() {
        let policy = policy(
            &["*.example.org", "10.0.0.1", "::1", "other.net"],
            "{ host = \"*\", http = true }, { host = \"*.example.org\", methods = [\"GET\"] }, \
             { host = \"api.example.org\", methods = [\"GET\"], ports = [8443] }, \
             { host = \"api.example.org\", methods = [\"PUT\"], headers = { x = { env = \"TOKEN\" } } }, \
             { host = \"key.example.org\", headers = { x = { env = \"NONE\" } } }",
        );
        for (method, uri, outcome) in [
            ("GET", "https://www.example.org/x", "as *.example.org"),
            ("GET", "https://WWW.Example.ORG/x", "as *.example.org"),
            ("GET", "https://www.example.org:443/x", "as *.example.org"),
            ("POST", "https://www.example.org/", "www.example.org is not granted with the method POST"),
            ("GET", "http://www.example.org/", "www.example.org is not granted without TLS"),
            ("GET", "https://www.example.org:8443/", "www.example.org is not granted with the port 8443"),
            ("GET", "https://api.example.org:8443/", "as api.example.org"),
            ("PUT", "https://api.example.org/", "as api.example.org"),
            ("POST", "https://api.example.org/", "api.example.org is not granted with the method POST"),
            ("GET", "https://example.org/", "it did not ask for the host example.org"),
            ("GET", "https://www.example.org./", "it did not ask for the host www.example.org."),
            ("GET", "https://evil.net/", "it did not ask for the host evil.net"),
            ("GET", "https://other.net/", "as *"),
            ("GET", "http://other.net/", "as *"),
            ("GET", "http://other.net:443/", "other.net is not granted with the port 443"),
            ("CONNECT", "https://other.net/", "other.net is not granted with the method CONNECT"),
            ("TRACE", "https://other.net/", "other.net is not granted with the method TRACE"),
            ("GET", "https://other.net:65536/", "its port is no number from 0 to 65535"),
            ("GET", "https://other.net:/", "its port is no number from 0 to 65535"),
            ("GET", "https://10.0.0.1/", "as *"),
            ("GET", "https://[::1]/", "as *"),
            ("GET", "https://other.net[]/", "it has no usable host"),
            ("GET", "https://[0:0::1]/", "as *"),
            ("GET", "https://user:pass@other.net/", "its address names a user"),
            ("GET", "https://evil.net@other.net/", "its address names a user"),
            (
                "GET",
                "https://key.example.org/",
                "a header for key.example.org needs the environment variable NONE, which is not set or no header",
            ),
        ] {
            assert_eq!(check(&policy, method, uri), outcome, "{method} {uri}");
        }
    }

    #[test]
    fn asking_alone_and_granting_alone_open_nothing() {
        assert_eq!(check(&policy(&["a.org"], ""), "GET", "https://a.org/"), "the host a.org is not granted");
        assert_eq!(
            check(&policy(&[], "\"a.org\""), "GET", "https://a.org/"),
            "it did not ask for the host a.org"
        );
    }

    #[test]
    fn addresses_inside_need_a_word_of_the_operator() {
        for (grant, addresses, refused) in [
            ("\"a.org\"", &["1.1.1.1", "2606:4700::1"][..], None),
            ("\"a.org\"", &["127.0.0.1"], Some("127.0.0.1, a loopback address")),
            ("\"a.org\"", &["1.1.1.1", "10.0.0.1"], Some("10.0.0.1, a private address")),
            ("\"a.org\"", &["::ffff:127.0.0.1"], Some("127.0.0.1, a loopback address")),
            ("{ host = \"a.org\", private = true }", &["127.0.0.1", "fd00::1", "192.168.1.1"], None),
            (
                "{ host = \"a.org\", private = true }",
                &["169.254.169.254"],
                Some("169.254.169.254, a link-local address, as cloud metadata services have"),
            ),
            ("{ host = \"a.org\", addresses = [\"169.254.169.254\"] }", &["169.254.169.254"], None),
            ("{ host = \"a.org\", addresses = [\"10.0.0.1\"] }", &["::ffff:10.0.0.1"], None),
            (
                "{ host = \"a.org\", addresses = [\"10.0.0.1\"] }",
                &["10.0.0.2"],
                Some("10.0.0.2, a private address"),
            ),
            ("\"127.0.0.1\"", &["127.0.0.1"], None),
            ("\"*\"", &["127.0.0.1"], Some("127.0.0.1, a loopback address")),
        ] {
            let policy = policy(&["*"], grant);
            let rule = policy.rules.first().unwrap();
            let addresses: Vec<IpAddr> = addresses.iter().map(|address| address.parse().unwrap()).collect();
            let target = Target { host: "a.org".into(), port: 443, tls: true };
            let said = rule.check_addresses(&target, &addresses).err().map(|refusal| refusal.to_string());
            let wanted = refused.map(|what| format!("a.org is {what}, and that is not granted"));
            assert_eq!(said, wanted, "{grant} {addresses:?}");
        }
    }

    #[test]
    fn a_secret_never_travels_in_the_open() {
        let policy = policy(
            &["*"],
            "{ host = \"a.org\", http = true, private = true, headers = { x = { env = \"TOKEN\" } } }",
        );
        let rule = policy.rules.first().unwrap();
        for (tls, address, allowed) in [
            (true, "1.1.1.1", true),
            (false, "1.1.1.1", false),
            (false, "10.0.0.1", false),
            (false, "::1", true),
        ] {
            let target = Target { host: "a.org".into(), port: 80, tls };
            assert_eq!(
                rule.check_addresses(&target, &[address.parse().unwrap()]).is_ok(),
                allowed,
                "{address}"
            );
        }
    }

    #[test]
    fn a_secret_is_not_shown_to_who_debugs() {
        let policy = policy(
            &["*"],
            "{ host = \"a.org\", headers = { x = { env = \"TOKEN\", prefix = \"Bearer \" } } }",
        );
        let rule = policy.rules.first().unwrap();
        assert_eq!(rule.secrets()["x"], "Bearer s3cret");
        assert!(!format!("{policy:?}").contains("s3cret"));
    }
}

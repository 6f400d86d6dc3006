use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::{HeaderName, Method, Uri};

use super::grant::HostGrant;
use super::host::HostPattern;
use super::outgoing::is_forbidden;
use super::policy::{Policy, Rule, Target};
use crate::extensions::fuzzing::lines;

/// Requests of a guest, and where the names of their hosts lead. The host follows no redirect: where a guest does, the
/// target is a request like any other.
///
/// Fields: `asked`, a host of the manifest; `grant`, an entry of `network` as in `lathe.toml`; `method`; `uri`;
/// `parts`, scheme, authority and path of one with a space between them, as `wasi:http` has them; `address`, one that
/// hosts have; `header`, the name of one.
///
/// # Panics
///
/// If a request goes out that was not both asked for and granted, or to an address that is not the internet's without
/// a grant, or with a header that is the host's. False if not every request is let out.
#[must_use]
pub fn url(bytes: &[u8]) -> bool {
    let Requests { asked, granted, method, uris, addresses, headers } = read(bytes);
    let secret = |name: &str| (name == "TOKEN").then(|| "s3cret".to_owned());
    let policy = Policy::new(&asked, &granted, &secret);
    for name in &headers {
        assert!(is_forbidden(name) || !is_of_the_connection(name), "{name}");
    }
    let mut out = !uris.is_empty();
    for uri in &uris {
        let Ok(target) = Target::of(uri) else {
            out = false;
            continue;
        };
        assert_eq!(uri.host().map(bare), Some(target.host.clone()), "{uri}");
        assert!(uri.authority().is_some_and(|authority| !authority.as_str().contains('@')), "{uri}");
        let Ok(rule) = policy.check(&method, &target) else {
            out = false;
            continue;
        };
        allowed(&asked, &granted, &method, &target, rule);
        // As the client has them: an address is its own.
        let addresses = target.host.parse().map_or_else(|_| addresses.clone(), |address| vec![address]);
        let connects = rule.check_addresses(&target, &addresses).is_ok();
        if connects {
            for address in &addresses {
                open(*address, rule, &target);
            }
        }
        out &= connects;
    }
    out
}

struct Requests {
    asked: Vec<HostPattern>,
    granted: Vec<HostGrant>,
    method: Method,
    uris: Vec<Uri>,
    addresses: Vec<IpAddr>,
    headers: Vec<HeaderName>,
}

fn read(bytes: &[u8]) -> Requests {
    #[derive(serde::Deserialize)]
    struct Section {
        network: Vec<HostGrant>,
    }
    let mut requests = Requests {
        asked: Vec::new(),
        granted: Vec::new(),
        method: Method::GET,
        uris: Vec::new(),
        addresses: Vec::new(),
        headers: Vec::new(),
    };
    for line in lines(bytes) {
        match &*line.name {
            "asked" => requests.asked.extend(line.read::<HostPattern>()),
            "grant" => {
                let section: Result<Section, _> = toml::from_str(&format!("network = [{}]", line.value));
                requests.granted.extend(section.map(|section| section.network).unwrap_or_default());
            }
            "method" => requests.method = line.read().unwrap_or(Method::GET),
            "uri" => requests.uris.extend(line.read::<Uri>()),
            "parts" => {
                let mut parts = line.value.splitn(3, ' ');
                let mut part = || parts.next().unwrap_or_default();
                let uri = Uri::builder().scheme(part()).authority(part()).path_and_query(part());
                requests.uris.extend(uri.build());
            }
            "address" => requests.addresses.extend(line.read::<IpAddr>()),
            "header" => requests.headers.extend(line.read::<HeaderName>()),
            _ => {}
        }
    }
    requests
}

fn bare(host: &str) -> String {
    host.replace(['[', ']'], "").to_ascii_lowercase()
}

/// What is let out was asked for and granted, told in another way than the policy does.
fn allowed(asked: &[HostPattern], granted: &[HostGrant], method: &Method, target: &Target, rule: &Rule) {
    let Target { host, port, tls } = target;
    assert!(asked.iter().any(|pattern| is_meant(pattern, host)), "{host} was not asked for");
    let standard = if *tls { 443 } else { 80 };
    let fits = |grant: &HostGrant| {
        let ports = if grant.ports.is_empty() { vec![standard] } else { grant.ports.clone() };
        is_meant(&grant.host, host)
            && grant.methods.iter().any(|granted| String::from(granted.clone()) == method.as_str())
            && (*tls || grant.http)
            && ports.contains(port)
    };
    assert!(granted.contains(&rule.grant) && fits(&rule.grant), "{method} {target:?} was not granted");
    assert_ne!(*method, Method::CONNECT, "a tunnel leads past every rule");
    let exact = |grant: &&HostGrant| !grant.host.to_string().contains('*') && is_meant(&grant.host, host);
    let widened = granted.iter().any(|grant| exact(&grant)) && !exact(&&rule.grant);
    assert!(!widened, "{target:?} is let out by a wider grant than its own");
}

fn is_meant(pattern: &HostPattern, host: &str) -> bool {
    let pattern = pattern.to_string();
    match (pattern.strip_prefix('*'), pattern.parse::<IpAddr>()) {
        (Some(""), _) => true,
        (Some(below), _) => host.ends_with(below) && host.len() > below.len(),
        (None, Ok(address)) => host.parse() == Ok(address),
        (None, Err(_)) => host == pattern,
    }
}

/// What is connected to is the internet's, or granted by name or number.
fn open(address: IpAddr, rule: &Rule, target: &Target) {
    let canonical = address.to_canonical();
    let literal = rule.grant.host.to_string().parse::<IpAddr>().ok();
    let listed = rule.grant.addresses.iter().copied().chain(literal);
    let is_listed = listed.map(|address| address.to_canonical()).any(|listed| listed == canonical);
    let (inner, never) = match canonical {
        IpAddr::V4(address) => v4(address),
        IpAddr::V6(address) => v6(address),
    };
    assert!(is_listed || !never, "{address} is nobody's");
    assert!(is_listed || rule.grant.private || !inner, "{address} is not the internet's");
    let in_the_open = !target.tls && !canonical.is_loopback();
    assert!(!in_the_open || rule.secrets().is_empty(), "a secret goes to {address} in the open");
}

/// Whether it is of this machine or a network near it, and whether it is nobody's.
fn v4(address: Ipv4Addr) -> (bool, bool) {
    let [a, b, ..] = address.octets();
    let carrier = a == 100 && b & 0xc0 == 64;
    let never = address.is_link_local()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast()
        || a == 0
        || a >= 240;
    (address.is_loopback() || address.is_private() || carrier, never)
}

fn v6(address: Ipv6Addr) -> (bool, bool) {
    let octets = address.octets();
    let last = |from: usize| octets.get(from..from + 4).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
    let inside = match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => last(12),
        [0x2002, ..] => last(2),
        _ => None,
    };
    if let Some(inside) = inside.map(Ipv4Addr::from).or_else(|| address.to_ipv4())
        && !address.is_loopback()
    {
        return v4(inside);
    }
    let never = address.is_unicast_link_local() || address.is_multicast() || address.is_unspecified();
    (address.is_loopback() || address.is_unique_local(), never)
}

/// Headers by which a guest would break the connection up, or speak to a proxy (RFC 9110 §7.6.1, RFC 9112).
fn is_of_the_connection(name: &HeaderName) -> bool {
    [
        "connection",
        "host",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ]
    .contains(&name.as_str())
}

//! What kind of network an address belongs to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Who is behind an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Anybody's: the internet.
    Public,
    /// This machine, or a network that it is in.
    Private(&'static str),
    /// Nothing that a request should reach, or the cloud's own services, which hand out keys to whoever asks.
    Reserved(&'static str),
}

use Kind::{Private, Public, Reserved};

const METADATA: Kind = Reserved("the address of a cloud's metadata service");

pub(super) fn kind(address: IpAddr) -> Kind {
    match address {
        IpAddr::V4(address) => v4(address),
        IpAddr::V6(address) => v6(address),
    }
}

fn v4(address: Ipv4Addr) -> Kind {
    match address.octets() {
        // Alibaba, Azure, Oracle. That of AWS, Google and most others is link-local.
        [100, 100, 100, 200] | [168, 63, 129, 16] | [192, 0, 0, 192] => METADATA,
        [0, ..] => Reserved("an unspecified address"),
        [127, ..] => Private("a loopback address"),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Private("a private address"),
        [100, 64..=127, ..] => Private("an address inside a carrier's network"),
        [169, 254, ..] => Reserved("a link-local address, as cloud metadata services have"),
        [192, 0, 0, _] | [192, 88, 99, _] | [198, 18..=19, ..] => Reserved("an address with a special use"),
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Reserved("an address for documentation"),
        [224..=239, ..] => Reserved("a multicast address"),
        [240..=255, ..] => Reserved("a reserved address"),
        _ => Public,
    }
}

fn v6(address: Ipv6Addr) -> Kind {
    if address == Ipv6Addr::LOCALHOST {
        return Private("a loopback address");
    }
    if address.is_unspecified() {
        return Reserved("an unspecified address");
    }
    let [a, b, c, d, e, f, g, h] = address.segments();
    let inner = |high: u16, low: u16| v4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    match [a, b, c, d, e, f] {
        // IPv4 in another form is as near as it is: mapped, compatible, through NAT64, 6to4.
        [0, 0, 0, 0, 0, 0xffff | 0] | [0x64, 0xff9b, 0, 0, 0, 0] => return inner(g, h),
        [0x2002, ..] => return inner(b, c),
        _ => {}
    }
    match (a, b) {
        // AWS, Google.
        (0xfd00, 0xec2) | (0xfd20, 0xce) if h == 0x254 => METADATA,
        (0xfc00..=0xfdff, _) => Private("a private address"),
        (0xfe80..=0xfebf, _) => Reserved("a link-local address, as cloud metadata services have"),
        (0xff00..=0xffff, _) => Reserved("a multicast address"),
        (0x2001, 0xdb8) | (0x3fff, 0..=0xfff) => Reserved("an address for documentation"),
        // Teredo and the other protocols of 2001::/23 lead who knows where.
        (0x2001, 0..=0x1ff) => Reserved("an address with a special use"),
        (0x2000..=0x3fff, _) => Public,
        _ => Reserved("a reserved address"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_internet_is_public() {
        for public in [
            "1.1.1.1",
            "93.184.216.34",
            "172.15.0.1",
            "172.32.0.1",
            "100.63.0.1",
            "100.128.0.1",
            "192.169.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450::1",
            "::ffff:1.1.1.1",
            "64:ff9b::1.1.1.1",
        ] {
            assert_eq!(kind(public.parse().unwrap()), Public, "{public}");
        }
    }

    #[test]
    fn inner_networks_are_private() {
        for private in [
            "127.0.0.1",
            "127.255.0.9",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "100.64.0.1",
            "100.127.255.255",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::10.0.0.1",
            "64:ff9b::192.168.0.1",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "fc00::1",
            "fd12:3456::1",
        ] {
            assert!(matches!(kind(private.parse().unwrap()), Private(_)), "{private}");
        }
    }

    #[test]
    fn nobody_needs_the_rest() {
        for reserved in [
            "0.0.0.0",
            "0.1.2.3",
            "169.254.169.254",
            "169.254.170.2",
            "169.254.0.1",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
            "192.0.2.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "192.88.99.1",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::ffff:169.254.169.254",
            "64:ff9b::169.254.169.254",
            "64:ff9b:1::1",
            "2002:a9fe:a9fe::1",
            "2001::1",
            "2001:db8::1",
            "3fff::1",
            "100::1",
            "fd00:ec2::254",
            "fd20:ce::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "4000::1",
        ] {
            assert!(matches!(kind(reserved.parse().unwrap()), Reserved(_)), "{reserved}");
        }
    }
}

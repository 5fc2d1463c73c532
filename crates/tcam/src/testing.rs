//! Prefixes, addresses and changes for tests: few enough that they meet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use crate::prefix::Prefix;
use crate::route::{Port, Route};
use crate::update::Change;

/// Addresses of both families, whose bits vary in three bytes, near the beginning and near the end.
pub fn addresses() -> impl Strategy<Value = IpAddr> {
    let v4 = (0u8..2, 0u8..3, 0u8..3, any::<bool>())
        .prop_map(|(a, b, c, end)| Ipv4Addr::new(10 + a, b << 6, c << 5, u8::from(end)).into());
    let v6 = (0u16..2, 0u16..3, any::<bool>())
        .prop_map(|(a, b, end)| Ipv6Addr::new(0x2001, a, b << 13, 0, 0, 0, 0, end.into()).into());
    prop_oneof![v4, v6]
}

/// Prefixes of any length at such addresses.
pub fn prefixes() -> impl Strategy<Value = Prefix> {
    let length = prop_oneof![3 => 6u8..=32, 1 => 0u8..=128];
    (addresses(), length).prop_map(|(address, length)| {
        let most = Prefix::host(address).length();
        Prefix::new(address, length.min(most)).expect("it fits")
    })
}

/// Announcements by one of three ports, and withdrawals.
pub fn changes() -> impl Strategy<Value = Change> {
    (prefixes(), 0u32..5).prop_map(|(prefix, port)| match port {
        port @ 0..3 => Change::Announce(Route {
            prefix,
            port: Port(port),
        }),
        _ => Change::Withdraw(prefix),
    })
}

//! Lookups a second of the simulated TCAM beside two crates of tries, on one core.
//!
//! The TCAM is a model in software: it answers by hashing, once for each prefix length. Tries are
//! faster.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

use ip_network_table_deps_treebitmap::IpLookupTable;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use terrace_base::{Error, Result};

use crate::chip::Match;
use crate::functional::Functional;
use crate::golden::Golden;
use crate::policy::Sum;
use crate::route::{Port, Route};
use crate::router::Router;
use crate::settings::Settings;

/// Repetitions; the median counts.
const REPETITIONS: usize = 5;

/// What was measured of one of them.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// `tcam`, or the name of the crate.
    pub name: &'static str,
    /// Time to load the table.
    pub load: Duration,
    /// Time of all lookups: the median of the repetitions.
    pub lookups: Duration,
}

/// Measures lookups of addresses in a table.
///
/// # Errors
/// Returns a usage error if the table does not fit, and a failure if two of them answer
/// differently.
pub fn bench(settings: Settings, table: &[Route], addresses: &[IpAddr]) -> Result<Vec<Measured>> {
    let (tcam, load) = timed(|| {
        let chip = Functional::with_capacity(table.len());
        Router::load(chip, settings, Sum::parse("thesis")?, table.iter().copied())
    });
    let tcam = tcam?;
    let (trie, load_trie) = timed(|| {
        let mut golden = Golden::default();
        for route in table {
            golden.insert(*route);
        }
        golden
    });
    let (bitmap, load_bitmap) = timed(|| Treebitmap::of(table));
    for address in addresses {
        let answers = [
            tcam.lookup(*address),
            trie.lookup(*address),
            bitmap.lookup(*address),
        ];
        if answers.iter().any(|answer| *answer != answers[0]) {
            return Err(Error::failure(format!(
                "the answers for {address} differ: {answers:?}"
            )));
        }
    }
    Ok(vec![
        measured("tcam", load, addresses, |address| tcam.lookup(address)),
        measured("prefix-trie", load_trie, addresses, |address| {
            trie.lookup(address)
        }),
        measured("treebitmap", load_bitmap, addresses, |address| {
            bitmap.lookup(address)
        }),
    ])
}

/// Draws addresses within routes of the table, each route being as likely.
pub fn addresses(table: &[Route], count: usize, seed: u64) -> Vec<IpAddr> {
    let mut random = SplitMix64::seed_from_u64(seed);
    let mut draw = || {
        let index = (u128::from(random.next_u64()) * table.len() as u128) >> 64;
        let bits = u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
        table[index as usize].prefix.address_with(bits)
    };
    (0..count).map(|_| draw()).collect()
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begin = Instant::now();
    let done = work();
    (done, begin.elapsed())
}

fn measured(
    name: &'static str,
    load: Duration,
    addresses: &[IpAddr],
    lookup: impl Fn(IpAddr) -> Option<Match>,
) -> Measured {
    let all = || {
        for address in addresses {
            black_box(lookup(*address));
        }
    };
    let mut times: Vec<Duration> = (0..REPETITIONS).map(|_| timed(all).1).collect();
    times.sort_unstable();
    Measured {
        name,
        load,
        lookups: times[REPETITIONS / 2],
    }
}

/// A table of each family of the crate `ip_network_table-deps-treebitmap`.
struct Treebitmap {
    v4: IpLookupTable<Ipv4Addr, Port>,
    v6: IpLookupTable<Ipv6Addr, Port>,
}

impl Treebitmap {
    fn of(table: &[Route]) -> Self {
        let (mut v4, mut v6) = (IpLookupTable::new(), IpLookupTable::new());
        for route in table {
            let length = route.prefix.length().into();
            match route.prefix.address() {
                IpAddr::V4(address) => drop(v4.insert(address, length, route.port)),
                IpAddr::V6(address) => drop(v6.insert(address, length, route.port)),
            }
        }
        Self { v4, v6 }
    }

    fn lookup(&self, address: IpAddr) -> Option<Match> {
        let (length, port) = match address {
            IpAddr::V4(address) => self
                .v4
                .longest_match(address)
                .map(|(_, length, port)| (length, port))?,
            IpAddr::V6(address) => self
                .v6
                .longest_match(address)
                .map(|(_, length, port)| (length, port))?,
        };
        Some(Match {
            length: length as u8,
            port: *port,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_answer_alike() {
        let route = |text: &str, port| Route {
            prefix: text.parse().unwrap(),
            port: Port(port),
        };
        let table = [
            route("0.0.0.0/0", 1),
            route("10.0.0.0/8", 2),
            route("10.1.0.0/16", 3),
            route("2001:db8::/32", 4),
        ];
        let addresses = addresses(&table, 200, 1);
        let measured = bench(Settings::default(), &table, &addresses).unwrap();
        assert_eq!(measured.len(), 3);
    }
}

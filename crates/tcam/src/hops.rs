//! Next hops for updates whose file has none, such as RIPE RIS's Parquet: a share of the
//! announcements changes the port.

use rustc_hash::FxHashMap;
use terrace_base::{Error, Result};

use crate::input::{NextHop, Ports};
use crate::prefix::Prefix;
use crate::route::Port;
use crate::uniform::Uniform;
use crate::update::{Change, Update};

/// Share of the announcements of a known prefix that changed the next hop, in an MRT file of RIPE
/// RIS of five minutes of 2016, over every other of the peers with several next hops. Of the peers
/// that were left out 0.113 did.
pub const SHARE: f64 = 0.080;

/// Ports that a prefix changes between.
///
/// 38 % of the changes behind [`SHARE`] go back to the port before, as with four ports where any
/// other comes next. Of the peers that were left out 60 % do.
pub const PORTS: u32 = 4;

/// Has a share (0 to 1) of the announcements change the port of their prefix, to any other of
/// [`PORTS`]; the others name the one that the prefix had last, withdrawn or not. The first port of
/// all is that of the file. `seed` decides which.
///
/// # Errors
/// Returns a usage error if the updates have next hops.
pub fn make(updates: &mut [Update], share: f64, ports: &mut Ports, seed: u64) -> Result<()> {
    let of_file = ports.of(NextHop::Unknown);
    let made = (1..PORTS).map(|n| ports.of(NextHop::Name(format!("made-{n}").into())));
    let choice: Vec<Port> = std::iter::once(of_file).chain(made).collect();
    let mut random = Uniform::new(seed);
    let mut last: FxHashMap<Prefix, usize> = FxHashMap::default();
    for update in updates {
        let Change::Announce(route) = &mut update.change else {
            continue;
        };
        if route.port != of_file {
            return Err(Error::usage(
                "the updates have next hops of their own, so that no share of them can change the port",
            ));
        }
        let last = last.entry(route.prefix).or_default();
        if random.draw() < share {
            let further = 1 + (random.draw() * f64::from(PORTS - 1)) as usize;
            *last = (*last + further) % choice.len();
        }
        route.port = choice[*last];
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::Route;

    /// Announcements of two prefixes in turn, and a withdrawal now and then.
    fn updates(port: Port) -> Vec<Update> {
        let change = |n: u32| {
            let prefix: Prefix = ["10.0.0.0/8", "11.0.0.0/8"][n as usize % 2]
                .parse()
                .unwrap();
            match n % 7 {
                0 => Change::Withdraw(prefix),
                _ => Change::Announce(Route { prefix, port }),
            }
        };
        (0..7000)
            .map(|n| Update {
                at: None,
                change: change(n),
            })
            .collect()
    }

    #[test]
    fn a_share_of_the_announcements_changes_the_port() {
        for share in [0.0, 0.1, 1.0] {
            let mut ports = Ports::default();
            let mut updates = updates(ports.of(NextHop::Unknown));
            make(&mut updates, share, &mut ports, 5).unwrap();
            let mut last = FxHashMap::default();
            let (mut changed, mut back, mut before) = (0, 0, FxHashMap::default());
            for update in &updates {
                if let Change::Announce(route) = update.change {
                    let had = last.insert(route.prefix, route.port).unwrap_or(Port(0));
                    if had != route.port {
                        changed += 1;
                        back += u32::from(before.insert(route.prefix, had) == Some(route.port));
                    }
                }
            }
            let found = f64::from(changed) / 6000.0;
            assert!((found - share).abs() < 0.015, "{found} for {share}");
            assert!(share < 0.5 || (f64::from(back) / f64::from(changed) - 1.0 / 3.0).abs() < 0.03);
        }
    }

    #[test]
    fn next_hops_of_a_file_stay() {
        let mut ports = Ports::default();
        let mut updates = updates(ports.of(NextHop::Name("a".into())));
        let error = make(&mut updates, 0.5, &mut ports, 5).unwrap_err();
        assert!(
            error.to_string().contains("next hops of their own"),
            "{error}"
        );
    }
}

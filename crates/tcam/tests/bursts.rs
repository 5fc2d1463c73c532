//! The models of times and next hops beside updates that have both, which are not part of the
//! project: fitted to every other peer, judged on the rest.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;
use terrace_base::Nanos;
use terrace_tcam::input::{self, Ports};
use terrace_tcam::times::{self, BURST, Model};
use terrace_tcam::{Change, Port, Prefix, Update, hops};

/// Peers with fewer updates say little about bursts.
const LEAST: usize = 250;
/// Seconds of the file.
const SPAN_S: u64 = 300;

fn path() -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let data = std::env::var_os("TERRACE_DATA").map_or(beside, PathBuf::from);
    let path = data.join("bgp/mrt-updates-20160811.1600.gz");
    assert!(
        path.exists(),
        "this test needs {} (TERRACE_DATA)",
        path.display()
    );
    path
}

/// Returns the updates of the peers, those to fit to and the others.
fn halves() -> [Vec<Vec<Update>>; 2] {
    let mut halves = [Vec::new(), Vec::new()];
    let peers = input::updates_by_peer(&path(), &mut Ports::default()).unwrap();
    let many = peers.into_iter().map(|(_, updates)| updates);
    let many = many.filter(|updates| updates.len() >= LEAST);
    for (index, updates) in many.enumerate() {
        halves[index % 2].push(updates);
    }
    halves
}

/// Returns the updates of each second that has any.
fn by_second(times: impl Iterator<Item = Nanos>) -> Vec<f64> {
    let mut seconds: BTreeMap<u64, u32> = BTreeMap::new();
    for at in times {
        *seconds.entry(at.0 / 1_000_000_000).or_default() += 1;
    }
    seconds.into_values().map(f64::from).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Returns the index of dispersion of counts a second, variance over mean, and the busiest second
/// over the mean.
fn burstiness(seconds: &[f64]) -> (f64, f64) {
    let mean = seconds.iter().sum::<f64>() / SPAN_S as f64;
    let squares: f64 = seconds.iter().map(|count| count * count).sum();
    let variance = squares / SPAN_S as f64 - mean * mean;
    let most = seconds.iter().copied().fold(0.0, f64::max);
    (variance / mean, most / mean)
}

#[test]
#[ignore = "needs the updates of real routers; run by make test-data"]
fn shared_data_bursts_are_as_fitted() {
    let [fitted, others] = halves();
    let times = |updates: &[Update]| by_second(updates.iter().map(|update| update.at.unwrap()));
    let sizes: Vec<f64> = fitted.iter().flat_map(|updates| times(updates)).collect();
    let logarithms: Vec<f64> = sizes.iter().map(|size| size.ln()).collect();
    let center = mean(&logarithms);
    let squares: Vec<f64> = logarithms.iter().map(|x| (x - center).powi(2)).collect();
    let spread = mean(&squares).sqrt();
    println!("burst: {center:.3} {spread:.3}");
    assert!((center - BURST.0).abs() < 0.005 && (spread - BURST.1).abs() < 0.005);

    let real: Vec<_> = others
        .iter()
        .map(|updates| burstiness(&times(updates)))
        .collect();
    let modelled = others.iter().flat_map(|updates| {
        let timeless: Vec<Update> = updates
            .iter()
            .map(|update| Update {
                at: None,
                ..*update
            })
            .collect();
        (0..20).map(move |seed| {
            let span = Nanos(SPAN_S * 1_000_000_000);
            let (made, times) = times::timed(&timeless, Model::Bursty, span, seed);
            assert!(made);
            burstiness(&by_second(times.into_iter()))
        })
    });
    let modelled: Vec<_> = modelled.collect();
    let medians = |of: &[(f64, f64)]| {
        let (dispersions, most): (Vec<f64>, Vec<f64>) = of.iter().copied().unzip();
        (median(dispersions), median(most))
    };
    let (real, modelled) = (medians(&real), medians(&modelled));
    println!("dispersion and busiest second: {real:?}, by the model {modelled:?}");
    // Real updates are burstier than the model; even times would have a dispersion below 1.
    assert!((0.3..1.0).contains(&(modelled.0 / real.0)));
    assert!((0.6..1.2).contains(&(modelled.1 / real.1)));
}

/// Announcements of prefixes that the peer announced before, those that change the next hop, and of
/// these the ones that go back to the one before.
#[derive(Debug, Default)]
struct Hops {
    again: f64,
    changed: f64,
    back: f64,
}

/// Counts over the peers that name several next hops: others name themselves, whatever the route.
fn next_hops(peers: &[Vec<Update>]) -> Hops {
    let mut hops = Hops::default();
    for updates in peers {
        let announced = updates.iter().filter_map(|update| match update.change {
            Change::Announce(route) => Some(route),
            Change::Withdraw(_) => None,
        });
        let first = announced.clone().next();
        if announced
            .clone()
            .all(|route| Some(route.port) == first.map(|first| first.port))
        {
            continue;
        }
        let mut last: FxHashMap<Prefix, (Port, Option<Port>)> = FxHashMap::default();
        for route in announced {
            let Some((port, before)) = last.get(&route.prefix).copied() else {
                last.insert(route.prefix, (route.port, None));
                continue;
            };
            hops.again += 1.0;
            if port != route.port {
                hops.changed += 1.0;
                hops.back += f64::from(u8::from(before == Some(route.port)));
                last.insert(route.prefix, (route.port, Some(port)));
            }
        }
    }
    hops
}

#[test]
#[ignore = "needs the updates of real routers; run by make test-data"]
fn shared_data_next_hops_change_as_fitted() {
    let [fitted, others] = halves().map(|peers| next_hops(&peers));
    println!("{fitted:?}, others {others:?}");
    // 8 % of the announcements that come again; a third of the changes goes back, as with four
    // ports.
    let share = |hops: &Hops| hops.changed / hops.again;
    assert!(
        (share(&fitted) - hops::SHARE).abs() < 0.001,
        "{}",
        share(&fitted)
    );
    assert_eq!(
        (1.0 + fitted.changed / fitted.back).round(),
        f64::from(hops::PORTS)
    );
    assert!((1.0..1.5).contains(&(share(&others) / share(&fitted))));
}

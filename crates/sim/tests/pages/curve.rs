//! Curves: the misses of the simulation at each size, exactly where all pages are simulated, and
//! about as many where a sample is.

use proptest::prelude::*;
use terrace_base::Bytes;
use terrace_policy::replacement::{REGISTRY, Spec};
use terrace_sim::curve::{CurveSettings, Curves, Gathered, Sizes};
use terrace_sim::pages::{Dram, Foresight, PageMachine, Survey, run};
use terrace_sim::workload::Workload;
use terrace_trace::Source;
use terrace_trace::generate::{KernelSettings, Zipf};

use crate::discards::{recorded, steps};
use crate::machine::{settings, trace_with};

fn asked(policies: &[&str], sizes: Sizes, rate: Option<f64>) -> CurveSettings {
    let parse = |name: &&str| Spec::parse(name).expect("the policy is there");
    CurveSettings {
        policies: policies.iter().map(parse).collect(),
        sizes,
        rate,
        samples: 4,
        seed: 1,
    }
}

fn curves(trace: Box<dyn Source>, settings: CurveSettings) -> terrace_base::Result<Curves> {
    let workload = Workload::new(vec![trace], None)?;
    Gathered::read(workload, settings, |_| {})?.curves(|_| {})
}

/// Misses of machines with these sizes of DRAM, each simulated in virtual time.
fn simulated(trace: &dyn Fn() -> Box<dyn Source>, policy: &str, sizes: &[u64]) -> Vec<u64> {
    let workload = || Workload::new(vec![trace()], None).expect("there is a trace");
    let survey = Survey::of(workload(), Foresight::Order, |_| {}).expect("it has one thread");
    let machine = |size: &u64| PageMachine {
        replacement: Spec::parse(policy).expect("the policy is there"),
        ..settings(*size as usize)
    };
    let machines = sizes.iter().map(machine).collect();
    let outcomes = run(workload(), machines, survey.future.as_ref(), |_| {});
    let outcomes = outcomes.expect("traces in memory are right");
    outcomes
        .iter()
        .map(|outcome| outcome.counts.misses())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn misses_at_a_rate_of_one_are_those_of_the_simulation(
        steps in steps(), block in 1usize..50, sizes in prop::collection::btree_set(1u64..20, 1..4),
    ) {
        let (accesses, discards) = recorded(&steps);
        let trace = || trace_with(&accesses, &discards, block);
        let sizes = Vec::from_iter(sizes);
        let names: Vec<&str> = REGISTRY.iter().map(|entry| entry.name).collect();
        let drams = Sizes::Some(sizes.iter().copied().map(Dram::Pages).collect());
        let curves = curves(trace(), asked(&names, drams, Some(1.0))).unwrap();
        prop_assert_eq!(curves.touches, accesses.len() as u64);
        for (name, curve) in names.iter().zip(&curves.curves) {
            let points = curve.points.iter().map(|point| (point.dram_pages, point.misses));
            let slow = simulated(&trace, name, &sizes);
            let slow: Vec<_> = sizes.iter().copied().zip(slow).collect();
            prop_assert_eq!(points.collect::<Vec<_>>(), slow, "{}", name);
        }
    }

    /// Between two sizes that are named, the misses of LRU are those of the smaller one.
    #[test]
    fn all_sizes_of_lru_are_all_where_its_misses_change(steps in steps()) {
        let (accesses, discards) = recorded(&steps);
        let trace = || trace_with(&accesses, &discards, 9);
        let curves = curves(trace(), asked(&["lru"], Sizes::All, None)).unwrap();
        let points = &curves.curves[0].points;
        let sizes: Vec<u64> = (1..20).step_by(3).collect();
        for (size, misses) in sizes.iter().zip(simulated(&trace, "lru", &sizes)) {
            let before = points.iter().take_while(|point| point.dram_pages <= *size).last();
            prop_assert_eq!(before.map_or(curves.touches, |point| point.misses), misses, "{}", size);
        }
    }
}

/// Ten thousand pages, of which a tenth is simulated: within three of the errors that are said, and
/// within three points of the truth, for policies that are simulated and for the one that is not.
#[test]
fn a_sample_tells_about_as_much() {
    let zipf = Zipf {
        exponent: 0.8,
        item: Bytes(4096),
        in_order: false,
        writes: 30,
    };
    let kernel = KernelSettings {
        accesses: 200_000,
        footprint: Bytes(10_000 << 12),
        seed: 5,
    };
    let policies = ["lru", "arc", "fifo", "belady"];
    let of = |rate| {
        curves(
            zipf.source(&kernel).unwrap(),
            asked(&policies, Sizes::twentieths(), Some(rate)),
        )
        .unwrap()
    };
    let (exact, estimated) = (of(1.0), of(0.1));
    for (exact, estimated) in exact.curves.iter().zip(&estimated.curves) {
        let name = &exact.policy;
        assert_eq!((exact.error(), estimated.samples), (Some(0.0), 4), "{name}");
        let error = estimated.error().unwrap();
        assert!((0.0005..0.02).contains(&error), "{name}: {error}");
        let points = exact.points.iter().zip(&estimated.points);
        let squares =
            points.map(|(exact, estimated)| (exact.miss_ratio - estimated.miss_ratio).powi(2));
        let deviation = (squares.sum::<f64>() / exact.points.len() as f64).sqrt();
        assert!(deviation < 3.0 * error, "{name}: {deviation} {error}");
        assert!(deviation < 0.03, "{name}: {deviation}");
    }
}

#[test]
fn what_cannot_be_answered_is_refused() {
    let (accesses, discards) = recorded(&[crate::discards::Step::Touch(0, false)]);
    let refusal = |settings| {
        let curves = curves(trace_with(&accesses, &discards, 9), settings);
        curves.map(drop).unwrap_err().to_string()
    };
    let twentieths = Sizes::twentieths;
    for (settings, why) in [
        (
            asked(&["lru", "arc"], Sizes::All, None),
            "arc would be simulated at every size",
        ),
        (
            asked(&["lru"], twentieths(), Some(0.0)),
            "no share of the pages",
        ),
        (
            asked(&["lru"], twentieths(), Some(1.5)),
            "no share of the pages",
        ),
        (
            asked(&["lru"], twentieths(), Some(f64::NAN)),
            "no share of the pages",
        ),
        (asked(&["fifo"], twentieths(), None), "without a page"),
        (
            asked(&["lru"], twentieths(), Some(1e-300)),
            "without a page",
        ),
    ] {
        let error = refusal(settings);
        assert!(error.contains(why), "{error}");
    }
}

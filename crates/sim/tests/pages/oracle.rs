//! The oracle bounds what a predictor can win, on generated traces with a slow device.

use terrace_base::{Bytes, Nanos};
use terrace_policy::prefetch::REGISTRY;
use terrace_sim::pages::{Foresight, Outcome, PageMachine, Prefetch, Survey, run};
use terrace_sim::workload::Workload;
use terrace_trace::Source;
use terrace_trace::generate::{self, Gups, Sequential, Strided, Zipf};

use crate::machine::{predictor, settings, simulate_knowing, touch, trace};

const PAGES: Bytes = Bytes(400 << 12);

/// A trace, made anew each time.
type Make = Box<dyn Fn() -> Box<dyn Source>>;

fn traces() -> Vec<(&'static str, Make)> {
    let shape = |accesses| generate::KernelSettings {
        accesses,
        footprint: PAGES,
        seed: 1,
    };
    let zipf = |exponent| Zipf {
        exponent,
        item: Bytes(4096),
        in_order: false,
        writes: 20,
    };
    vec![
        (
            "sequential",
            Box::new(move || Sequential { writes: 20 }.source(&shape(600_000)).unwrap()),
        ),
        (
            "strided",
            Box::new(move || {
                let stride = Bytes(5 << 12);
                let kind = Strided { stride, writes: 20 };
                let wide = generate::KernelSettings {
                    footprint: Bytes(5 * PAGES.0),
                    ..shape(4_000)
                };
                kind.source(&wide).unwrap()
            }),
        ),
        (
            "random",
            Box::new(move || Gups.source(&shape(4_000)).unwrap()),
        ),
        (
            "zipf",
            Box::new(move || zipf(1.0).source(&shape(6_000)).unwrap()),
        ),
        (
            "steep zipf",
            Box::new(move || zipf(1.5).source(&shape(30_000)).unwrap()),
        ),
    ]
}

/// What each way of prefetching makes of a trace.
fn outcomes(make: &Make, machine: &PageMachine, ways: &[Prefetch]) -> Vec<Outcome> {
    let open = || Workload::new(vec![make()], None).unwrap();
    let survey = Survey::of(open(), Foresight::Threads, |_| {}).unwrap();
    let machines = ways.iter().map(|prefetch| PageMachine {
        prefetch: prefetch.clone(),
        ..machine.clone()
    });
    run(open(), machines.collect(), survey.future.as_ref(), |_| {}).unwrap()
}

/// Where the device is busy all the time there is nothing to win; the oracle loses two in a
/// hundred there, for pages that it fetches push out others that are needed sooner.
#[test]
fn no_predictor_wins_more() {
    let names = REGISTRY
        .iter()
        .map(|entry| entry.name)
        .filter(|name| *name != "oracle");
    let names = names.chain(["spatial:trigger=first-use", "stream:queue=direct"]);
    let ways = names.map(predictor);
    let ways: Vec<_> = [predictor("oracle"), Prefetch::Off]
        .into_iter()
        .chain(ways)
        .collect();
    for (name, make) in traces() {
        for (dram, channels, read) in [(100, 1, 50_000), (100, 8, 50_000), (200, 4, 10_000)] {
            let mut machine = settings(dram);
            machine.eviction_buffer = 16;
            machine.tier.timing.channels = channels;
            machine.tier.timing.read = Nanos(read);
            machine.tier.timing.write = Nanos(read / 5);
            let outcomes = outcomes(&make, &machine, &ways);
            let time = |outcome: &Outcome| outcome.time().0 as f64;
            let oracle = &outcomes[0];
            for (way, other) in ways.iter().zip(&outcomes).skip(1) {
                assert!(
                    time(oracle) <= 1.03 * time(other),
                    "{name}, {dram} pages of DRAM, {channels} channels: oracle {} {:?}, {} {}",
                    time(oracle),
                    oracle.counts,
                    way,
                    time(other),
                );
            }
        }
    }
}

#[test]
fn several_threads_are_foreseen_several_programs_are_not() {
    let program: Vec<_> = (0..6_000u64)
        .map(|step| {
            touch(
                (step % 2) as u16,
                step * 500,
                step * step % 293,
                step % 5 == 0,
            )
        })
        .collect();
    let mut machine = settings(100);
    machine.eviction_buffer = 16;
    machine.tier.timing.channels = 8;
    let alone = simulate_knowing(machine.clone(), &program);
    machine.prefetch = predictor("oracle");
    let foreseen = simulate_knowing(machine, &program);
    assert_eq!(foreseen.programs[0].threads, 2);
    assert!(
        10 * foreseen.counts.full_misses < alone.counts.full_misses,
        "{:?} {:?}",
        foreseen.counts,
        alone.counts
    );
    let two = vec![trace(&program, 99), trace(&program, 99)];
    let workload = Workload::new(two, None).unwrap();
    let error = Survey::of(workload, Foresight::Threads, |_| {}).unwrap_err();
    assert!(error.to_string().contains("needs one trace"), "{error}");
    let workload = Workload::new(vec![trace(&program, 99)], None).unwrap();
    let error = Survey::of(workload, Foresight::Order, |_| {}).unwrap_err();
    assert!(error.to_string().contains("one thread"), "{error}");
}

//! What holds for every machine and every program.

use proptest::prelude::*;
use terrace_base::Nanos;
use terrace_device::{Deadlines, Order};
use terrace_policy::replacement;
use terrace_sim::pages::{
    Around, Inclusion, Initial, Outcome, PageMachine, Prefetch, Shootdown, Work, run,
};
use terrace_sim::workload::Workload;
use terrace_trace::Access;

use crate::machine::{predictor, readahead, settings, simulate, touch, trace};

/// Programs of a few threads.
fn programs() -> impl Strategy<Value = Vec<Vec<Access>>> {
    let access = (0u16..3, 0u64..200, 0u64..24, any::<bool>());
    let program = prop::collection::vec(access, 1..250).prop_map(|accesses| {
        let mut clocks = [0; 3];
        let access = |(thread, gap, page, write): (u16, u64, u64, bool)| {
            clocks[usize::from(thread)] += gap;
            touch(thread, clocks[usize::from(thread)], page, write)
        };
        accesses.into_iter().map(access).collect()
    });
    prop::collection::vec(program, 1..3)
}

pub fn machines() -> impl Strategy<Value = PageMachine> {
    let online = replacement::REGISTRY.iter();
    let online: Vec<_> = online.filter(|entry| !entry.knows_future()).collect();
    let prefetch = prop::sample::select(vec![
        "off",
        "readahead",
        "readahead:slots",
        "readahead:fixed",
        "stream",
        "spatial:queue=direct",
        "temporal:queue=fifo",
        "spatial:trigger=first-use",
        "corp",
    ]);
    let shape = (1usize..30, 0usize..6, 1u32..5, 1u32..4, 0u64..50, 0usize..8);
    let ways = (any::<bool>(), any::<bool>(), any::<bool>(), prefetch);
    (shape, ways, prop::sample::select(online)).prop_map(|(shape, ways, replacement)| {
        let (dram, buffer, channels, devices, warmup, cache) = shape;
        let (inclusive, synchronous, deadline, prefetch) = ways;
        let mut machine = settings(dram);
        machine.prefetch_cache = cache.min(dram - 1);
        machine.replacement = replacement.into();
        machine.eviction_buffer = buffer;
        machine.tier.timing.channels = channels;
        machine.tier.devices = devices;
        machine.tier.timing.bandwidth = deadline.then_some(1 << 34);
        machine.tier.timing.order = if deadline {
            Order::Deadline(Deadlines::default())
        } else {
            Order::Plain
        };
        machine.warmup = warmup;
        machine.inclusion = if inclusive {
            Inclusion::Inclusive
        } else {
            Inclusion::Exclusive
        };
        machine.work = if synchronous {
            Work::Synchronous
        } else {
            Work::Asynchronous
        };
        machine.fault.shootdown = Shootdown::Interrupt;
        machine.fault.prefetch = Nanos(3);
        machine.prefetch = match prefetch {
            "off" => Prefetch::Off,
            "readahead" => readahead(Around::Addresses, 3),
            "readahead:slots" => readahead(Around::Slots, 3),
            "readahead:fixed" => readahead(Around::Block, 3),
            name => predictor(name),
        };
        machine
    })
}

fn total(outcome: &Outcome) -> u64 {
    let times = &outcome.times;
    let all = [
        times.compute,
        times.trap,
        times.kernel,
        times.read,
        times.copy,
        times.map,
        times.unmap,
        times.write_out,
        times.shootdown,
        times.evict,
        times.prefetch,
        times.idle,
    ];
    all.into_iter().sum::<Nanos>().0
}

proptest! {
    #[test]
    fn everything_is_accounted_for(machine in machines(), programs in programs(), block in 1usize..80) {
        let whole = PageMachine { warmup: 0, ..machine.clone() };
        let outcome = simulate(whole, &programs, block);
        let counts = outcome.counts;
        let accesses: usize = programs.iter().map(Vec::len).sum();
        prop_assert_eq!(counts.accesses, accesses as u64);
        let pages: std::collections::HashSet<_> = programs
            .iter()
            .enumerate()
            .flat_map(|(program, accesses)| accesses.iter().map(move |a| (program, a.address / 4096)))
            .collect();
        prop_assert_eq!(counts.first_touches, pages.len() as u64);
        prop_assert_eq!(counts.reads, counts.full_misses + outcome.story.issued);
        prop_assert!(counts.misses() <= counts.accesses);
        // Linux has pages written that stay, once for each time that a program has changed them.
        let stay = match machine.replacement.entry().name {
            "linux" => counts.writes,
            _ => 0,
        };
        prop_assert!(counts.writebacks <= counts.evictions + stay);
        let settled = outcome.story.used + outcome.story.late + outcome.story.wasted;
        prop_assert_eq!(settled + outcome.untouched, outcome.story.issued);
        if machine.prefetch_cache > 0 {
            prop_assert!(outcome.untouched <= machine.prefetch_cache as u64);
        }
        let story = outcome.story;
        let ended = story.filtered + story.wiped + story.in_memory + story.issued;
        prop_assert!(ended <= story.predicted);
        if matches!(machine.prefetch, Prefetch::Readahead { .. }) {
            prop_assert_eq!(ended, story.predicted);
        }
        let latencies = outcome.latencies;
        prop_assert_eq!(latencies.faults, counts.full_misses + counts.partial_misses);
        prop_assert!(latencies.faults_ns >= outcome.times.read.0);
        prop_assert!(latencies.device_reads_ns >= latencies.device_reads * machine.tier.timing.read.0);
        prop_assert!(outcome.slowdown() >= 1.0);
        prop_assert!(outcome.all_dram() <= outcome.time());
        // Each thread's clock begins when it is first heard of; up to there it did nothing.
        let threads: u64 = outcome.programs.iter().map(|p| u64::from(p.threads)).sum();
        prop_assert!(total(&outcome) <= outcome.time().0 * threads);
        if threads == 1 {
            prop_assert_eq!(total(&outcome), outcome.time().0);
        }
        if matches!(machine.prefetch, Prefetch::Off) {
            prop_assert_eq!(outcome.story.issued, 0);
        }
    }

    /// The same bytes out, however the trace is cut and whatever runs beside.
    #[test]
    fn a_result_does_not_depend_on_what_runs_beside(
        machines in prop::collection::vec(machines(), 1..4),
        programs in programs(),
        block in 1usize..80,
    ) {
        let sources = programs.iter().map(|accesses| trace(accesses, block)).collect();
        let workload = Workload::new(sources, None).unwrap();
        let together = run(workload, machines.clone(), None, |_| {}).unwrap();
        for (machine, outcome) in machines.into_iter().zip(together) {
            prop_assert_eq!(outcome, simulate(machine, &programs, block));
        }
    }

    /// Where a read takes no time there is no queue, so it does not matter which one hints wait in:
    /// the same pages are fetched, in the same order. With several devices the order does matter: a
    /// hint whose device reads the demanded page comes behind those of idle devices, and the order
    /// in which pages come decides which leave.
    #[test]
    fn on_an_infinitely_fast_device_the_queue_does_not_matter(
        machine in machines(),
        programs in programs(),
    ) {
        let program: Vec<_> = programs[0].iter().map(|access| Access { thread: 0, ..*access }).collect();
        let found = ["direct", "fifo", "lifo"].map(|queue| {
            let mut machine = machine.clone();
            machine.prefetch = predictor(&format!("spatial:queue={queue}"));
            machine.work = Work::Asynchronous;
            machine.eviction_buffer = 4096;
            // Pages come from the tier from the start: what leaves for it may wait in the buffer
            // for ever.
            machine.initial = Initial::Tier;
            machine.tier.devices = 1;
            machine.tier.timing.bandwidth = None;
            machine.tier.timing.read = Nanos(0);
            machine.tier.timing.write = Nanos(0);
            simulate(machine, std::slice::from_ref(&program), 50)
        });
        prop_assert_eq!(&found[0], &found[1]);
        prop_assert_eq!(&found[0], &found[2]);
    }

    /// With one thread and no prefetch, misses are the policy's.
    #[test]
    fn misses_are_the_policy_s(machine in machines(), programs in programs(), block in 1usize..80) {
        // These also see what comes back from the eviction buffer dirty.
        prop_assume!(!["cflru", "linux"].contains(&machine.replacement.entry().name));
        let mut accesses = programs[0].clone();
        accesses.iter_mut().enumerate().for_each(|(index, access)| {
            access.thread = 0;
            access.instruction = index as u64;
        });
        let alone = PageMachine { prefetch: Prefetch::Off, prefetch_cache: 0, warmup: 0, ..machine };
        let mut policy = alone.replacement.policy(alone.dram_pages, alone.seed, None).unwrap();
        let mut numbers = std::collections::HashMap::new();
        let touches: Vec<_> = accesses
            .iter()
            .map(|access| {
                let next = numbers.len() as u32;
                let number = *numbers.entry(access.address).or_insert(next);
                replacement::Touch { page: replacement::PageId(number), write: access.write }
            })
            .collect();
        let outcome = simulate(alone, &[accesses], block);
        prop_assert_eq!(outcome.counts.misses(), policy.replay(&touches));
        prop_assert_eq!(outcome.counts.partial_misses, 0);
    }
}

//! The time of cores: loads that wait for each other, and programs that share a cache by time.

use terrace_base::{Bytes, Result};
use terrace_sim::llc::model::{BANKS, CYCLE, LOOKUP, NEAR};
use terrace_sim::llc::{LlcMachine, Mix, Open, Pass, Sinks, run};
use terrace_trace::generate::{Chase, KernelSettings};
use terrace_trace::order::{Event, Order, Point};
use terrace_trace::{Access, Source};

use crate::replay::{Replay, memory, settings, simulate};
use crate::slow::{Cores, Kind, Shared};

/// Two private levels of 32 and 256 KiB and a last one of 1 MiB before a memory.
fn machine(name: &str) -> LlcMachine {
    LlcMachine {
        memories: vec![memory(name, None)],
        ..settings(64, [Some((64, 8)), Some((512, 8))], (1024, 16), &["lru"])
    }
}

/// A pointer chase over nodes of a line.
fn chase(accesses: u64, footprint: u64) -> Box<dyn Source> {
    let settings = KernelSettings {
        accesses,
        footprint: Bytes(footprint),
        seed: 1,
    };
    Chase { node: Bytes(64) }.source(&settings).unwrap()
}

fn simulate_chase(machine: &LlcMachine, accesses: u64, footprint: u64) -> Pass {
    let open: Open =
        Box::new(move || -> Result<Box<dyn Source>> { Ok(chase(accesses, footprint)) });
    let mix = Mix::new(vec![("chase".to_owned(), open)], None, None).unwrap();
    run(machine, mix, Sinks::default(), |_| ()).unwrap()
}

/// The accesses of the same chase, which do not say where addresses come from.
fn independent(accesses: u64, footprint: u64) -> Replay {
    let mut source = chase(accesses, footprint);
    let mut block = terrace_trace::Block::default();
    let mut all = Vec::new();
    while source.next_block(&mut block).unwrap() {
        all.extend(block.iter());
    }
    Replay::new(all, 1000)
}

fn nanos(pass: &Pass) -> f64 {
    pass.outcomes[0].memories[0].elapsed.0 as f64
}

#[test]
fn a_pointer_chase_takes_the_latency_of_memory() {
    let (loads, footprint) = (100_000, 64 << 20);
    // A load of the bank of the one before waits for its row cycle, too.
    for (name, read, cycle) in [("dram", 15.0, 51.0), ("pcm-row", 28.0, 0.0)] {
        let machine = machine(name);
        let pass = simulate_chase(&machine, loads, footprint);
        assert_eq!(pass.outcomes[0].counts.misses(), loads);
        let each = nanos(&pass) / loads as f64;
        let alone = read + (LOOKUP * CYCLE) as f64 / 1000.0;
        let latency = alone + f64::max(cycle - alone, 0.0) / BANKS as f64;
        assert!(
            (each / latency - 1.0).abs() < 0.02,
            "{name}: {each} ns, not {latency}"
        );
        let apart = nanos(&simulate(&machine, &[&independent(loads, footprint)], 1).pass);
        assert!(apart < 0.6 * nanos(&pass), "{name}: {apart}");
    }
}

#[test]
fn a_chase_through_the_second_level_takes_its_time() {
    let (loads, footprint) = (200_000, 128 << 10);
    let machine = machine("dram");
    let pass = simulate_chase(&machine, loads, footprint);
    assert!(pass.outcomes[0].counts.misses() <= 2048);
    let each = nanos(&pass) / loads as f64;
    let near = (NEAR * CYCLE) as f64 / 1000.0;
    assert!((each / near - 1.0).abs() < 0.1, "{each} ns, not {near}");
    let apart = nanos(&simulate(&machine, &[&independent(loads, footprint)], 1).pass);
    assert!(apart < 0.4 * nanos(&pass), "{apart}");
}

/// Loads that miss, each followed by one that the first level serves, from whose result the address
/// of the next miss comes. `hit` returns the address of the second load by that of the first, and
/// how many instructions before it the load was from which that address comes.
fn chain_through_hits(links: u64, hit: impl Fn(u64) -> (u64, u8)) -> Replay {
    let load = |instruction, address| Access {
        instruction,
        address,
        ip: 0x400,
        size: 8,
        ..Access::default()
    };
    let link = |index: u64| {
        // Each in a row of its own.
        let address = (1 << 30) + index * 3 * 8192;
        [
            load(4 * index, address),
            load(4 * index + 2, hit(address).0),
        ]
    };
    let accesses: Vec<Access> = (0..links).flat_map(link).collect();
    let depends = accesses
        .chunks(2)
        .flat_map(|pair| [2, hit(pair[0].address).1]);
    let depends = depends.collect();
    let mut replay = Replay::new(accesses, 999);
    replay.depends = depends;
    replay
}

#[test]
fn a_hit_in_the_first_level_is_as_late_as_its_address_and_its_line() {
    let links = 20_000;
    let machine = machine("pcm-row");
    let latency = 28.0 + (LOOKUP * CYCLE) as f64 / 1000.0;
    let time = |replay: &Replay| {
        let pass = simulate(&machine, &[replay], 1).pass;
        assert!(pass.outcomes[0].counts.misses() <= links + 4);
        nanos(&pass) / links as f64
    };
    // The miss tells where in a table that is near to look; the missed line has the next address
    // beside.
    let table = chain_through_hits(links, |address| (address / 8192 % 4 * 64, 2));
    let beside = chain_through_hits(links, |address| (address + 8, 0));
    for (name, mut replay) in [("table", table), ("beside", beside)] {
        let each = time(&replay);
        assert!(
            (each / latency - 1.0).abs() < 0.02,
            "{name}: {each} ns, not {latency}"
        );
        replay.depends.clear();
        let apart = time(&replay);
        assert!(apart < 0.6 * each, "{name}: {apart} ns without dependences");
    }
}

/// Loads of `lines` in turn, `step` instructions apart.
fn loads(count: u64, lines: u64, step: u64) -> Replay {
    let load = |index| Access {
        instruction: step * index,
        address: 64 * (index % lines),
        ip: 0x400,
        size: 8,
        ..Access::default()
    };
    Replay::new((0..count).map(load).collect(), 999)
}

#[test]
fn a_fast_and_a_slow_program_share_a_cache_by_time() {
    // One misses with every instruction, the other needs the second level now and then.
    let (slow, fast) = (loads(200_000, 1 << 20, 1), loads(200_000, 2048, 20));
    let pass = simulate(&machine("pcm-row"), &[&slow, &fast], 2).pass;
    let cores = &pass.outcomes[0].memories[0].cores;
    let times: Vec<_> = cores.iter().map(|(_, time)| time.0 as f64).collect();
    assert!((times[0] / times[1] - 1.0).abs() < 0.01, "{times:?}");
    let instructions = &pass.instructions;
    assert!(instructions[1] > 4 * instructions[0], "{instructions:?}");
    // Without a memory there is no time, and both execute the same.
    let without = LlcMachine {
        memories: Vec::new(),
        ..machine("pcm-row")
    };
    let instructions = simulate(&without, &[&slow, &fast], 2).pass.instructions;
    assert!(
        instructions[0].abs_diff(instructions[1]) < 10_000,
        "{instructions:?}"
    );
}

/// The accesses of threads that go round slices of their own, together 1 MiB, one line in some
/// instructions.
fn slices(threads: u16) -> Vec<Access> {
    let access = |thread: u16, index: u64| Access {
        instruction: index * (2 + u64::from(thread % 3)),
        address: (u64::from(thread) << 30) + index % (16_384 / u64::from(threads)) * 64,
        ip: 0x400,
        thread,
        size: 8,
        write: index.is_multiple_of(4),
        ..Access::default()
    };
    let accesses = 120_000 / u64::from(threads);
    let thread = |thread| (0..accesses).map(move |index| access(thread, index));
    (0..threads).flat_map(thread).collect()
}

/// As they are recorded: a chunk of each thread in turn.
fn in_chunks(rows: &[Access], chunk: usize) -> Vec<Access> {
    let mut rows: Vec<(usize, Access)> = {
        let mut counts = [0; 8];
        let place = |access: &Access| {
            let count = &mut counts[usize::from(access.thread)];
            *count += 1;
            ((*count - 1) / chunk, *access)
        };
        rows.iter().map(place).collect()
    };
    rows.sort_by_key(|(place, access)| (*place, access.thread));
    rows.into_iter().map(|(_, access)| access).collect()
}

/// The slices fit the last level, so that who runs beside whom matters. Misses are compared with
/// those of the slow model, which takes the same rows merged by their instructions, and time with
/// that of the merged rows.
#[test]
fn threads_over_slices_of_their_own_run_beside_each_other() {
    let shapes = [Some((64, 8)), Some((128, 8))];
    for (threads, name) in [(2, "dram"), (4, "pcm-row"), (8, "dram")] {
        let rows = slices(threads);
        let machine = LlcMachine {
            memories: vec![memory(name, None)],
            ..settings(64, shapes, (1024, 16), &["lru"])
        };
        let recorded = Replay::new(in_chunks(&rows, 8_000), 5_000);
        let recorded = simulate(&machine, &[&recorded], threads.into()).pass;
        let mut merged = rows;
        merged.sort_by_key(|access| (access.instruction, access.thread));
        let mut cores = Cores::new(64, shapes, threads);
        let mut shared = Shared::new((1024, 16), 16, false);
        for asked in merged.iter().flat_map(|access| cores.access(access)) {
            assert!(asked.kind != Kind::WriteBack || asked.ip == 0);
            shared.ask(&asked);
        }
        let (fast, slow) = (recorded.outcomes[0].counts.misses(), shared.found.misses);
        let misses = fast as f64 / slow as f64 - 1.0;
        let merged = Replay::new(merged, 5_000);
        let merged = simulate(&machine, &[&merged], threads.into()).pass;
        let time = nanos(&recorded) / nanos(&merged) - 1.0;
        println!("{threads} threads, {name}: misses {misses:+.4}, time {time:+.4}");
        assert!(misses.abs() < 0.05, "{threads} threads: {fast}, not {slow}");
        assert!(time.abs() < 0.01, "{threads} threads: {time:+.3}");
    }
}

#[test]
fn a_thread_waits_for_what_it_waited_for_when_it_was_recorded() {
    // So far apart that neither is slower because of the other.
    let load = |thread: u16, index: u64| Access {
        instruction: 400 * index,
        address: (u64::from(thread) << 30) + (index << 12),
        ip: 0x400,
        thread,
        size: 8,
        ..Access::default()
    };
    let thread = |thread| (0..4000).map(move |index| load(thread, index));
    let rows: Vec<Access> = (0..2).flat_map(thread).collect();
    let mut machine = machine("dram");
    // The second serves what the first has.
    machine.llcs.push(machine.llcs[0].clone());
    machine.traffic = false;
    let together = simulate(&machine, &[&Replay::new(rows.clone(), 999)], 2).pass;
    let order = |row, thread, event| Order {
        row,
        process: 0,
        thread,
        event,
    };
    let mut ordered = Replay::new(rows, 999);
    // The second begins when the first has made half of its accesses.
    ordered.orders = vec![
        order(2000, 0, Event::Release(Point(7))),
        order(4000, 1, Event::Acquire(Point(7))),
    ];
    let pass = simulate(&machine, &[&ordered], 2).pass;
    assert_eq!(pass.outcomes[0].memories, pass.outcomes[1].memories);
    let ends = |pass: &Pass| {
        let cores = &pass.outcomes[0].memories[0].cores;
        [cores[0].1.0 as f64, cores[1].1.0 as f64]
    };
    let ([first, second], [alone, other]) = (ends(&pass), ends(&together));
    assert!((first / alone - 1.0).abs() < 0.02, "{first} {alone}");
    let begin = second - other;
    assert!(
        (begin / (0.5 * first) - 1.0).abs() < 0.05,
        "{begin} of {first}"
    );
}

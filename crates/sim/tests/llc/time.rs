//! The time of cores: loads that wait for each other, and programs that share a cache by time.

use terrace_base::{Bytes, Result};
use terrace_sim::llc::model::{BANKS, CYCLE, LOOKUP, NEAR};
use terrace_sim::llc::{LlcMachine, Mix, Open, Pass, Sinks, run};
use terrace_trace::generate::{Chase, KernelSettings};
use terrace_trace::{Access, Source};

use crate::replay::{Replay, memory, settings, simulate};

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

//! How fast machines are simulated: requests a second of the whole simulation, from blocks of a
//! trace in memory to the outcome, on one thread.
//!
//! `cargo bench -p terrace-sim --bench pages [-- NAME ...]` makes 20 M Zipf 1.0 requests to 1 M
//! pages over 100 k pages of DRAM.

use std::sync::Arc;
use std::time::Instant;

use terrace_base::{Bytes, Nanos, Result, median};
use terrace_device::Catalogue;
use terrace_policy::replacement::{self, Entry, Make};
use terrace_sim::pages::{FaultCost, PageMachine, Tier, run};
use terrace_sim::workload::Workload;
use terrace_trace::generate::{self, Zipf};
use terrace_trace::{Block, Meta, Source};

const REQUESTS: u64 = 20_000_000;
const PAGES: u64 = 1_000_000;
const DRAM_PAGES: usize = 100_000;
const REPEATS: usize = 5;
const PASS: [&str; 8] = [
    "fifo", "clock", "sieve", "lru", "arc", "s3fifo", "lfu", "2q",
];

type Trace = (Meta, Arc<Vec<Block>>);

/// A trace in memory.
struct Replay {
    meta: Meta,
    blocks: Arc<Vec<Block>>,
    next: usize,
}

impl Source for Replay {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn read(&mut self, block: &mut Block) -> Result<()> {
        match self.blocks.get(self.next) {
            Some(next) => block.clone_from(next),
            None => block.clear(),
        }
        self.next += 1;
        Ok(())
    }
}

/// How long a simulation takes, in seconds: medians.
struct Time {
    wall: f64,
    processor: f64,
}

fn main() -> Result<()> {
    let names: Vec<String> = std::env::args()
        .skip(1)
        .filter(|name| !name.starts_with('-'))
        .collect();
    rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .use_current_thread()
        .build_global()
        .expect("the first pool");
    let trace = zipf()?;
    println!("{REQUESTS} Zipf 1.0 requests to {PAGES} pages, {DRAM_PAGES} pages of DRAM");
    println!("M requests/s     by the clock   by processor time");
    for entry in replacement::REGISTRY {
        let asked = names.is_empty() || names.iter().any(|name| name == entry.name);
        if asked && matches!(entry.make, Make::Online(_)) {
            let time = time(&trace, &[entry])?;
            let speed = |seconds: f64| REQUESTS as f64 / seconds / 1e6;
            println!(
                "{:14} {:12.1} {:14.1}",
                entry.name,
                speed(time.wall),
                speed(time.processor)
            );
        }
    }
    if names.is_empty() {
        compare_passes(&trace)?;
    }
    Ok(())
}

/// Eight policies in one pass over the trace, and in eight.
fn compare_passes(trace: &Trace) -> Result<()> {
    let eight: Vec<_> = PASS
        .iter()
        .filter_map(|name| Entry::by_name(name))
        .collect();
    let together = time(trace, &eight)?.processor;
    let mut apart = 0.0;
    for entry in eight {
        apart += time(trace, &[entry])?.processor;
    }
    println!("processor time of eight in one pass {together:.2} s, in eight passes {apart:.2} s");
    Ok(())
}

fn time(trace: &Trace, entries: &[&'static Entry]) -> Result<Time> {
    let mut times = Vec::new();
    for _ in 0..REPEATS {
        let source = Replay {
            meta: trace.0.clone(),
            blocks: Arc::clone(&trace.1),
            next: 0,
        };
        let workload = Workload::new(vec![Box::new(source)], None)?;
        let machines = entries.iter().map(|entry| settings(entry));
        let machines = machines.collect::<Result<_>>()?;
        let begin = (Instant::now(), processor_seconds());
        run(workload, machines, None, |_| {})?;
        times.push((
            begin.0.elapsed().as_secs_f64(),
            processor_seconds() - begin.1,
        ));
    }
    Ok(Time {
        wall: median(times.iter().map(|time| time.0)),
        processor: median(times.iter().map(|time| time.1)),
    })
}

/// The processor time of this thread, as Linux counts it: what other programs on the machine
/// disturb least.
fn processor_seconds() -> f64 {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat");
    let schedstat = schedstat.expect("a Linux with schedstat");
    let nanos = schedstat
        .split(' ')
        .next()
        .and_then(|nanos| nanos.parse().ok());
    let nanos: f64 = nanos.expect("a number of nanoseconds");
    nanos / 1e9
}

fn zipf() -> Result<Trace> {
    let kind = Zipf {
        exponent: 1.0,
        item: Bytes(4096),
        in_order: false,
        writes: 30,
    };
    let settings = generate::KernelSettings {
        accesses: REQUESTS,
        footprint: Bytes(PAGES * 4096),
        seed: 1,
    };
    let mut source = kind.source(&settings)?;
    let mut blocks = Vec::new();
    loop {
        let mut block = Block::default();
        source.read(&mut block)?;
        // A simulation of pages does not ask for it.
        block.ip.clear();
        if block.is_empty() {
            return Ok((source.meta().clone(), Arc::new(blocks)));
        }
        blocks.push(block);
    }
}

fn settings(replacement: &'static Entry) -> Result<PageMachine> {
    let catalogue = Catalogue::builtin();
    let technology = catalogue.get("pcm")?;
    Ok(PageMachine {
        dram_pages: DRAM_PAGES,
        tier: Tier {
            name: technology.name.clone(),
            timing: technology.timing()?,
            ..Tier::default()
        },
        replacement: replacement.into(),
        eviction_buffer: 64,
        fault: FaultCost::linux(),
        instruction_ps: 500,
        access: Nanos(100),
        seed: 1,
        ..PageMachine::default()
    })
}

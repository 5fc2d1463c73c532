//! How fast machines are simulated: requests a second of the whole simulation, from blocks of a
//! trace in memory to the outcome, on one thread.
//!
//! `cargo bench -p terrace-sim` makes 20 M Zipf 1.0 requests to 1 M pages over 100 k pages of DRAM.

use std::sync::Arc;
use std::time::Instant;

use terrace_base::{Bytes, Nanos, Result};
use terrace_device::Catalogue;
use terrace_policy::replacement::{self, Entry, Make};
use terrace_sim::pages::{FaultCost, Inclusion, Prefetch, Settings, Tier, Work, run};
use terrace_sim::workload::Workload;
use terrace_trace::generate::{self, Zipf};
use terrace_trace::{Block, Meta, Source};

const REQUESTS: u64 = 20_000_000;
const PAGES: u64 = 1_000_000;
const DRAM_PAGES: usize = 100_000;
const REPEATS: usize = 3;
const PASS: [&str; 8] = [
    "fifo", "clock", "sieve", "lru", "arc", "s3fifo", "lfu", "2q",
];

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

fn main() -> Result<()> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build_global()
        .expect("the first pool");
    let (meta, blocks) = zipf()?;
    println!("{REQUESTS} Zipf 1.0 requests to {PAGES} pages, {DRAM_PAGES} pages of DRAM");
    let timed = |entries: &[&'static Entry]| {
        let mut times: Vec<f64> = (0..REPEATS)
            .map(|_| {
                let source = Replay {
                    meta: meta.clone(),
                    blocks: Arc::clone(&blocks),
                    next: 0,
                };
                let workload = Workload::new(vec![Box::new(source)], None)?;
                let machines = entries
                    .iter()
                    .map(|entry| settings(entry))
                    .collect::<Result<_>>()?;
                let begin = Instant::now();
                run(workload, machines, None, |_| {})?;
                Ok(begin.elapsed().as_secs_f64())
            })
            .collect::<Result<_>>()?;
        times.sort_by(f64::total_cmp);
        Ok::<_, terrace_base::Error>(times[REPEATS / 2])
    };
    let online = replacement::REGISTRY
        .iter()
        .filter(|entry| matches!(entry.make, Make::Online(_)));
    let mut sum = 0.0;
    for entry in online {
        let seconds = timed(&[entry])?;
        if PASS.contains(&entry.name) {
            sum += seconds;
        }
        println!(
            "{:10} {:6.1} M requests/s",
            entry.name,
            REQUESTS as f64 / seconds / 1e6
        );
    }
    let eight: Vec<_> = PASS
        .iter()
        .filter_map(|name| replacement::by_name(name))
        .collect();
    let together = timed(&eight)?;
    println!("eight in one pass: {together:.2} s, in eight passes: {sum:.2} s");
    Ok(())
}

fn zipf() -> Result<(Meta, Arc<Vec<Block>>)> {
    let kind = Zipf {
        exponent: 1.0,
        item: Bytes(4096),
        in_order: false,
        writes: 30,
    };
    let settings = generate::Settings {
        accesses: REQUESTS,
        footprint: Bytes(PAGES * 4096),
        seed: 1,
    };
    let mut source = kind.source(&settings)?;
    let mut blocks = Vec::new();
    loop {
        let mut block = Block::default();
        source.read(&mut block)?;
        if block.is_empty() {
            return Ok((source.meta().clone(), Arc::new(blocks)));
        }
        blocks.push(block);
    }
}

fn settings(replacement: &'static Entry) -> Result<Settings> {
    let catalogue = Catalogue::builtin();
    let technology = catalogue.get("pcm")?;
    Ok(Settings {
        dram_pages: DRAM_PAGES,
        tier: Tier {
            name: technology.name.clone(),
            timing: technology.timing()?,
            energy: None,
            endurance: None,
            pages: None,
        },
        replacement,
        prefetch: Prefetch::Off,
        work: Work::Asynchronous,
        inclusion: Inclusion::Inclusive,
        eviction_buffer: 64,
        fault: FaultCost::linux(),
        threads: None,
        instruction_ps: 500,
        access: Nanos(100),
        warmup: 0,
        seed: 1,
    })
}

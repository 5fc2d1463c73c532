//! How fast last-level caches are simulated: accesses a second of the whole simulation, from blocks
//! of a trace in memory to the outcome, with no memory behind.
//!
//! `cargo bench -p terrace-sim --bench llc [-- TRACE]` simulates the hierarchy of Fedorov 2016,
//! table 2.1, on the first 30 M accesses of a trace, or on a matrix product where none is given.
//! One policy on one thread, ten in one pass on two; processor time is that of the whole process.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use terrace_base::{Bytes, Result, median};
use terrace_policy::llc::Spec;
use terrace_sim::llc::{LlcMachine, Mix, Open, Sinks, run};
use terrace_trace::generate::{self, Matmul};
use terrace_trace::{Block, Columns, Meta, Selection, Source, open};

const ACCESSES: u64 = 30_000_000;
const REPEATS: usize = 5;
const TEN: [&str; 10] = [
    "lru",
    "random",
    "nru",
    "nhm:n=0",
    "nhm:n=2",
    "nhm:n=4",
    "nhm:n=8",
    "nhm:n=12",
    "nhm:n=4,insert=lh",
    "nhm:n=8,insert=lh",
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
    let path = std::env::args().skip(1).find(|name| !name.starts_with('-'));
    let (meta, blocks) = load(path.as_deref())?;
    let accesses: usize = blocks.iter().map(Block::len).sum();
    println!(
        "{} accesses of {}",
        accesses,
        path.as_deref().unwrap_or("a matrix product")
    );
    println!("M accesses/s            by the clock   by processor time");
    for (policies, threads) in [(&TEN[..1], 1), (&TEN[..], 1), (&TEN[..], 2)] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.expect("threads start");
        let (wall, processor) = pool.install(|| time(&meta, &blocks, policies))?;
        let speed = |seconds: f64| accesses as f64 / seconds / 1e6;
        let what = format!("{} on {threads} threads", policies.len());
        println!("{what:22} {:12.1} {:14.1}", speed(wall), speed(processor));
    }
    Ok(())
}

/// How long a pass takes, in seconds by the clock and on all processors: medians.
fn time(meta: &Meta, blocks: &Arc<Vec<Block>>, policies: &[&str]) -> Result<(f64, f64)> {
    let mut times = Vec::new();
    for _ in 0..REPEATS {
        let open: Open = Box::new(|| {
            Ok(Box::new(Replay {
                meta: meta.clone(),
                blocks: Arc::clone(blocks),
                next: 0,
            }))
        });
        let mix = Mix::new(vec![("replay".to_owned(), open)], None, None)?;
        let specs = policies
            .iter()
            .map(|policy| Spec::parse(policy).expect("a policy"));
        let settings = LlcMachine::table_2_1(1, specs.collect());
        let begin = (Instant::now(), processor_seconds());
        run(&settings, mix, Sinks::default(), |_| {})?;
        let processor = processor_seconds() - begin.1;
        times.push((begin.0.elapsed().as_secs_f64(), processor));
    }
    Ok((
        median(times.iter().map(|time| time.0)),
        median(times.iter().map(|time| time.1)),
    ))
}

/// The processor time of all threads of this process, as Linux counts it: what other programs on
/// the machine disturb least.
fn processor_seconds() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").expect("a Linux");
    let nanos = |task: std::io::Result<std::fs::DirEntry>| -> f64 {
        let file = task.expect("a thread").path().join("schedstat");
        // A thread may have ended meanwhile.
        let schedstat = std::fs::read_to_string(file).unwrap_or_default();
        let nanos = schedstat
            .split(' ')
            .next()
            .and_then(|nanos| nanos.parse().ok());
        nanos.unwrap_or(0.0)
    };
    tasks.map(nanos).sum::<f64>() / 1e9
}

/// The beginning of a trace.
fn load(path: Option<&str>) -> Result<(Meta, Arc<Vec<Block>>)> {
    let source = match path {
        Some(path) => open(Path::new(path), Columns::ALL)?,
        None => {
            let settings = generate::KernelSettings {
                accesses: ACCESSES,
                footprint: Bytes(24 << 20),
                seed: 1,
            };
            Matmul { block: 64 }.source(&settings)?
        }
    };
    let part = Selection {
        limit: Some(ACCESSES),
        ..Selection::default()
    };
    let mut source = part.of(source);
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

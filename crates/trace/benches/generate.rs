//! How fast traces are generated, and how fast statistics of them are made, on one core.
//!
//! `cargo bench -p terrace-trace --bench generate`. Million accesses a second
//! of processor time, medians: of generating, of the statistics alone, and of both together.

use std::io::Write;

use terrace_base::{Bytes, Context, Error, Result};
use terrace_trace::generate::{
    Bfs, Chase, Gups, Join, KernelSettings, Matmul, Sequential, Stencil, Strided, Zipf,
};
use terrace_trace::{Block, Info, Source};

const REPEATS: usize = 3;
const SETTINGS: KernelSettings = KernelSettings {
    accesses: 20_000_000,
    footprint: Bytes(4 << 30),
    seed: 1,
};

fn main() -> Result<()> {
    let zipf = Zipf {
        exponent: 1.0,
        item: Bytes(4096),
        in_order: false,
        writes: 0,
    };
    let stride = Strided {
        stride: Bytes(4160),
        writes: 0,
    };
    // The graph is built beforehand and not measured; a large one takes its time.
    let small = KernelSettings {
        footprint: Bytes(256 << 20),
        ..SETTINGS
    };
    measure("sequential", || Sequential { writes: 0 }.source(&SETTINGS))?;
    measure("strided", || stride.source(&SETTINGS))?;
    measure("zipf 1.0, 1 Mi pages", || zipf.source(&SETTINGS))?;
    measure("chase", || Chase { node: Bytes(64) }.source(&SETTINGS))?;
    measure("gups", || Gups.source(&SETTINGS))?;
    measure("matmul", || Matmul { block: 64 }.source(&SETTINGS))?;
    measure("stencil", || Stencil.source(&SETTINGS))?;
    measure("join", || Join { probes: 4 }.source(&small))?;
    measure("bfs", || Bfs { degree: 16 }.source(&small))
}

fn measure(name: &str, make: impl Fn() -> Result<Box<dyn Source>>) -> Result<()> {
    let generate = median(&make, |source| {
        let (mut block, mut total) = (Block::default(), 0);
        while source.next_block(&mut block)? {
            total += block.len() as u64;
        }
        Ok(total)
    })?;
    let both = median(&make, |source| {
        Info::of(source, |_| ()).map(|info| info.accesses)
    })?;
    let info = 1.0 / (1.0 / both - 1.0 / generate);
    // The reader of a pipe may have gone.
    let _ = writeln!(
        std::io::stdout(),
        "{name:22} {generate:7.1} {info:7.1} {both:7.1}"
    );
    Ok(())
}

/// The median speed of `work`, which says how many accesses it took.
fn median(
    make: impl Fn() -> Result<Box<dyn Source>>,
    work: impl Fn(&mut dyn Source) -> Result<u64>,
) -> Result<f64> {
    let mut speeds = Vec::new();
    for _ in 0..REPEATS {
        let mut source = make()?;
        let start = processor_seconds()?;
        let accesses = work(&mut *source)?;
        speeds.push(accesses as f64 / 1e6 / (processor_seconds()? - start));
    }
    Ok(terrace_base::median(speeds))
}

/// What this thread has run; other programs on the machine do not count.
fn processor_seconds() -> Result<f64> {
    let path = "/proc/thread-self/schedstat";
    let text = std::fs::read_to_string(path).or_fail(|| format!("cannot read {path}"))?;
    let nanos = text.split(' ').next().and_then(|n| n.parse::<u64>().ok());
    let nanos = nanos.ok_or_else(|| Error::failure(format!("{path} has no processor time")))?;
    Ok(nanos as f64 / 1e9)
}

//! How fast the native format is written and read on one core, and how large it is.
//!
//! Speeds are by the processor time of the one thread, as Linux counts it in
//! `/proc/thread-self/schedstat`: other programs on the machine disturb that least.
//! `cargo bench -p terrace-trace`. The traces are like those of recorded programs: loops with
//! few instruction addresses, an instruction count that rises by small steps, accesses of 4 and
//! 8 bytes.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use terrace_trace::{Access, Block, Columns, create, open};

const ACCESSES: usize = 24_000_000;
const BLOCK: usize = 1 << 16;
const REPEATS: usize = 5;

fn main() -> terrace_base::Result<()> {
    let directory = tempfile::tempdir().expect("a directory for the traces");
    let path = directory.path().join("trace.parquet");
    for (name, trace) in [("matrix", matrix()), ("mixed", mixed())] {
        let write = median(|| write(&path, &trace))?;
        let bytes = std::fs::metadata(&path).map_or(0, |file| file.len());
        report(&format!(
            "{name}: {:.2} bytes an access; write {:.1} M/s",
            bytes as f64 / ACCESSES as f64,
            write / 1e6
        ));
        for (name, columns) in [
            ("ADDRESSES", Columns::ADDRESSES),
            ("PAGES", Columns::PAGES),
            ("ALL", Columns::ALL),
        ] {
            let read = median(|| read(&path, columns))?;
            report(&format!(
                "  read {name}: {:.1} M/s, {:.0} MB/s of file",
                read / 1e6,
                read * bytes as f64 / ACCESSES as f64 / 1e6
            ));
        }
    }
    Ok(())
}

fn report(line: &str) {
    // The reader of a pipe may have gone.
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// The processor time of this thread.
fn processor_time() -> Duration {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat");
    let schedstat = schedstat.expect("a Linux with schedstat");
    let nanos = schedstat.split(' ').next().and_then(|n| n.parse().ok());
    Duration::from_nanos(nanos.expect("a number of nanoseconds"))
}

/// The median of the speeds, in accesses a second, of some runs of `run`.
fn median(mut run: impl FnMut() -> terrace_base::Result<()>) -> terrace_base::Result<f64> {
    let mut speeds = Vec::new();
    for _ in 0..REPEATS {
        let begin = processor_time();
        run()?;
        speeds.push(ACCESSES as f64 / (processor_time() - begin).as_secs_f64());
    }
    Ok(terrace_base::median(speeds))
}

fn write(path: &Path, trace: &[Block]) -> terrace_base::Result<()> {
    let mut sink = create(path, &[])?;
    trace.iter().try_for_each(|block| sink.write(block))?;
    sink.finish()
}

fn read(path: &Path, columns: Columns) -> terrace_base::Result<()> {
    let mut source = open(path, columns)?;
    let mut block = Block::default();
    let mut accesses = 0;
    while source.next_block(&mut block)? {
        accesses += std::hint::black_box(&block).len();
    }
    assert_eq!(accesses, ACCESSES);
    Ok(())
}

/// Cuts what `fill` appends into blocks until there are enough accesses.
fn blocks(mut fill: impl FnMut(&mut dyn FnMut(Access))) -> Vec<Block> {
    let mut blocks = vec![Block::default()];
    let mut count = 0;
    while count < ACCESSES {
        fill(&mut |access| {
            if count == ACCESSES {
                return;
            }
            if blocks[blocks.len() - 1].len() == BLOCK {
                blocks.push(Block::default());
            }
            let last = blocks.len() - 1;
            blocks[last].push(access);
            count += 1;
        });
    }
    blocks
}

/// A blocked matrix product, c += a * b, as a compiler's scalar code does it.
fn matrix() -> Vec<Block> {
    const SIDE: u64 = 1024;
    const TILE: u64 = 32;
    let [a, b, c] = [0x7f10_0000_0000u64, 0x7f10_1000_0000, 0x7f10_2000_0000];
    let at = |matrix: u64, row: u64, column: u64| matrix + (row * SIDE + column) * 8;
    let mut instruction = 0;
    let mut tile = 0;
    blocks(move |push| {
        let tiles = SIDE / TILE;
        let (i0, j0, k0) = (
            tile / tiles / tiles % tiles,
            tile / tiles % tiles,
            tile % tiles,
        );
        tile += 1;
        for i in i0 * TILE..(i0 + 1) * TILE {
            for k in k0 * TILE..(k0 + 1) * TILE {
                let mut access = |gap, address, ip, write| {
                    instruction += gap;
                    push(Access {
                        instruction,
                        address,
                        ip,
                        process: 0,
                        thread: 0,
                        size: 8,
                        write,
                    });
                };
                access(6, at(a, i, k), 0x40_1210, false);
                for j in j0 * TILE..(j0 + 1) * TILE {
                    access(3, at(b, k, j), 0x40_1228, false);
                    access(1, at(c, i, j), 0x40_122e, false);
                    access(2, at(c, i, j), 0x40_1234, true);
                }
            }
        }
    })
}

/// Lookups in a large table with a skewed choice, scans between them, a stack, and two threads.
fn mixed() -> Vec<Block> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut instructions = [0u64; 2];
    let mut scan = 0x7f22_0000_0000u64;
    let mut thread = 0usize;
    blocks(move |push| {
        if random() % 1000 == 0 {
            thread ^= 1;
        }
        let mut access = |gap, address, ip, size, write| {
            instructions[thread] += gap;
            push(Access {
                instruction: instructions[thread],
                address,
                ip,
                process: 0,
                thread: thread as u16,
                size,
                write,
            });
        };
        let stack = 0x7ffd_1000_0000 - thread as u64 * 0x10_0000;
        if random() % 4 == 0 {
            for _ in 0..random() % 40 {
                access(4, scan, 0x55_4000_1100, 8, false);
                access(2, stack - 16, 0x55_4000_1108, 4, true);
                scan += 8;
            }
        } else {
            // The inverse of a Zipf distribution with an exponent near 1.
            let uniform = (random() >> 11) as f64 / (1u64 << 53) as f64;
            let rank = (22.0 * uniform * std::f64::consts::LN_2).exp() as u64;
            let entry = 0x7f30_0000_0000 + rank * 64;
            let site = 0x55_4000_2000 + rank % 37 * 48;
            access(5 + random() % 9, stack - 8 * (random() % 8), site, 8, true);
            access(2, entry, site + 7, 8, false);
            access(
                1 + random() % 4,
                entry + 8 * (random() % 7),
                site + 15,
                4,
                false,
            );
            access(3, entry + 56, site + 30, 8, random() % 3 == 0);
        }
    })
}

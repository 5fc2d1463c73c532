//! What a fault in a region takes, and how much of that is the device's own time.
//!
//! `cargo bench -p terrace-region --bench fault [-- DIRECTORY]` prints medians over several runs,
//! for emulated memories and for a file in the directory. A thread reads one byte of each page in
//! random order, over a region four times as large as DRAM, so that three in four touches fetch a
//! page. All pages are clean by then. Needs root, as userfaultfd does.

use std::path::Path;
use std::time::{Duration, Instant};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use terrace_base::{Bytes, Nanos, median};
use terrace_device::Timing;
use terrace_region::slow::disk::Disk;
use terrace_region::slow::emulated::Emulated;
use terrace_region::slow::{Buffer, Slow, Write};
use terrace_region::{Extension, Settings};

const PAGE: usize = 4096;
const DRAM: u64 = 4096;
const REGION: u64 = 4 * DRAM;
const TOUCHES: usize = 20_000;
const RUNS: usize = 5;
/// A touch of a page in DRAM takes less, and the least fault more.
const FAULT: Duration = Duration::from_micros(2);

fn main() {
    let directory = std::env::args()
        .skip(1)
        .find(|word| !word.starts_with("--"));
    println!(
        "{:<24} {:>9} {:>10} {:>9}",
        "memory", "fault us", "device us", "above us"
    );
    for read in [0, 150, 1_000, 25_000] {
        let memory = || -> Box<dyn Slow> { Box::new(emulated(read)) };
        show(
            &format!("emulated, {}", Nanos(read)),
            memory,
            read as f64 / 1e3,
        );
    }
    if let Some(directory) = directory {
        let file =
            || -> Box<dyn Slow> { Box::new(Disk::in_directory(Path::new(&directory)).unwrap()) };
        let device = device(&mut *file());
        show("a file", file, device);
    }
}

fn emulated(read: u64) -> Emulated {
    Emulated::new(Timing {
        read: Nanos(read),
        write: Nanos(0),
        channels: 1,
        ..Timing::default()
    })
}

fn show(name: &str, memory: impl Fn() -> Box<dyn Slow>, device: f64) {
    let fault = median((0..RUNS).map(|_| fault(memory())));
    println!(
        "{name:<24} {fault:>9.2} {device:>10.2} {:>9.2}",
        fault - device
    );
}

/// Returns the microseconds of a touch that faults, by the clock of the thread that touches.
fn fault(memory: Box<dyn Slow>) -> f64 {
    let settings = Settings {
        prefetch: None,
        ..Settings::new(Bytes::of_pages(DRAM), memory)
    };
    let extension = Extension::start(settings).unwrap();
    let mut region = extension.map(Bytes::of_pages(REGION)).unwrap();
    for page in region.as_mut_slice().chunks_mut(PAGE) {
        page[0] = 1;
    }
    let bytes = region.as_slice();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut any = move || (random.next_u64() % REGION) as usize * PAGE;
    // Dirty pages leave first.
    let sum: u64 = (0..2 * REGION).map(|_| u64::from(bytes[any()])).sum();
    assert_eq!(sum, 2 * REGION);
    let before = extension.figures();
    let mut faults = Vec::new();
    for _ in 0..TOUCHES {
        let at = any();
        let began = Instant::now();
        let read = std::hint::black_box(bytes[at]);
        let took = began.elapsed();
        assert_eq!(read, 1);
        if took > FAULT {
            faults.push(took.as_secs_f64() * 1e6);
        }
    }
    let fetches = extension.figures().fetches - before.fetches;
    assert!(fetches as usize > TOUCHES / 2, "{fetches} fetches");
    median(faults)
}

/// Returns the microseconds of a read beside which nothing is under way.
fn device(memory: &mut dyn Slow) -> f64 {
    let places = REGION as u32;
    for place in 0..places {
        let write = Write {
            buffer: Buffer::zeroed(),
            lines: u64::MAX,
        };
        memory.write(0, place, write);
        finish(memory);
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
    let reads = (0..5000).map(|_| {
        let began = Instant::now();
        memory.read(0, random.next_u64() as u32 % places, Buffer::zeroed());
        finish(memory);
        began.elapsed().as_secs_f64() * 1e6
    });
    median(reads)
}

fn finish(memory: &mut dyn Slow) {
    while memory.done().is_none() {
        std::hint::spin_loop();
    }
}

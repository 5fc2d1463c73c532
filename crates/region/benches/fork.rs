//! What a fork of a process with extended memory takes, and the first writes after it, beside plain
//! memory.
//!
//! `cargo bench -p terrace-region --bench fork [-- DIRECTORY]` prints medians over several forks,
//! for plain memory, an emulated memory without latency, and a file in the directory, with a tenth
//! of the memory in DRAM and with all of it. All pages are dirty. A write is of one byte of a page
//! at random: before the fork, by the parent after it, and by the child after that. Needs root, as
//! userfaultfd does.

use std::io::{Read, Write as _, pipe};
use std::path::Path;
use std::time::Instant;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use terrace_base::{Bytes, median};
use terrace_device::Timing;
use terrace_region::slow::Slow;
use terrace_region::slow::disk::Disk;
use terrace_region::slow::emulated::Emulated;
use terrace_region::{Extension, Settings};

const PAGE: usize = 4096;
const MEGABYTES: [u64; 2] = [256, 1024];
const WRITES: usize = 500;
const FORKS: usize = 7;

fn main() {
    let directory = std::env::args()
        .skip(1)
        .find(|word| !word.starts_with("--"));
    println!(
        "{:<10} {:>5} {:>6} {:>8} {:>10} {:>10} {:>10}",
        "memory", "MB", "DRAM", "fork ms", "before us", "parent us", "child us"
    );
    for megabytes in MEGABYTES {
        let mut plain = vec![0; (megabytes << 20) as usize];
        show("plain", megabytes, 100, &mut plain);
        drop(plain);
        extended("emulated", megabytes, || Box::new(emulated()));
        if let Some(directory) = &directory {
            let directory = Path::new(directory);
            extended("a file", megabytes, || {
                Box::new(Disk::in_directory(directory).unwrap())
            });
        }
    }
}

fn emulated() -> Emulated {
    Emulated::new(Timing {
        channels: 1,
        ..Timing::default()
    })
}

/// Shows a memory with a tenth of it in DRAM, and with all of it.
fn extended(name: &str, megabytes: u64, memory: impl Fn() -> Box<dyn Slow>) {
    for percent in [10, 100] {
        // A part of DRAM is for pages that leave; where none do, there is more than all need.
        let megabytes_of_dram = match percent {
            100 => 2 * megabytes,
            _ => megabytes * percent / 100,
        };
        let settings = Settings {
            prefetch: None,
            ..Settings::new(Bytes(megabytes_of_dram << 20), memory())
        };
        let extension = Extension::start(settings).unwrap();
        let mut region = extension.map(Bytes(megabytes << 20)).unwrap();
        show(name, megabytes, percent, region.as_mut_slice());
    }
}

fn show(name: &str, megabytes: u64, percent: u64, bytes: &mut [u8]) {
    bytes.chunks_mut(PAGE).for_each(|page| page[0] = 1);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let forks: Vec<_> = (0..FORKS).map(|_| fork(bytes, &mut random)).collect();
    let of = |part: usize| median(forks.iter().map(|fork| fork[part]));
    println!(
        "{name:<10} {megabytes:>5} {:>6} {:>8.2} {:>10.2} {:>10.2} {:>10.2}",
        format!("{percent}%"),
        of(0) / 1e3,
        of(1),
        of(2),
        of(3)
    );
}

/// Forks, and returns the microseconds of the fork, of a write before it, of one by the parent
/// after it, and of one by the child.
fn fork(bytes: &mut [u8], random: &mut Xoshiro256PlusPlus) -> [f64; 4] {
    let before = write(bytes, random);
    let (mut go, mut told) = pipe().unwrap();
    let (mut results, mut result) = pipe().unwrap();
    let began = Instant::now();
    // SAFETY: the child writes to memory and pipes, and ends.
    let child = unsafe { libc::fork() };
    let fork = began.elapsed().as_secs_f64() * 1e6;
    if child == 0 {
        let mut word = [0];
        go.read_exact(&mut word).unwrap();
        // Other pages than the parent's.
        let mut random = Xoshiro256PlusPlus::seed_from_u64(random.next_u64());
        let took = write(bytes, &mut random);
        result.write_all(&took.to_ne_bytes()).unwrap();
        // SAFETY: ends the process.
        unsafe { libc::_exit(0) }
    }
    assert!(child > 0, "{}", std::io::Error::last_os_error());
    let parent = write(bytes, random);
    told.write_all(&[1]).unwrap();
    let mut took = [0; 8];
    results.read_exact(&mut took).unwrap();
    // SAFETY: waits for a child of ours.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    [fork, before, parent, f64::from_ne_bytes(took)]
}

/// Returns the mean of the microseconds of a write.
fn write(bytes: &mut [u8], random: &mut Xoshiro256PlusPlus) -> f64 {
    let pages = bytes.len() / PAGE;
    let began = Instant::now();
    for _ in 0..WRITES {
        let page = random.next_u64() as usize % pages;
        bytes[page * PAGE] = bytes[page * PAGE].wrapping_add(1);
    }
    began.elapsed().as_secs_f64() * 1e6 / WRITES as f64
}

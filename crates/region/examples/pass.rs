//! A little program whose passes over memory are timed, in a region or under any other memory.
//!
//! `pass [--write] MIB STRIDE PASSES [DRAM_MIB DIRECTORY [PREDICTOR]]` fills MIB of memory, and
//! then reads or writes a byte of each page, in order or with a stride in pages, PASSES times; it
//! prints the microseconds for each page of the passes. With DRAM_MIB the memory is a region with a
//! file in the directory behind it.

use std::path::Path;
use std::time::Instant;

use terrace_base::Bytes;
use terrace_policy::prefetch::Spec;
use terrace_region::slow::disk::Disk;
use terrace_region::{Extension, Settings};

const PAGE: usize = 4096;

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let writes = arguments.first().is_some_and(|first| first == "--write");
    if writes {
        arguments.remove(0);
    }
    let kind: Kind = if writes { write } else { read };
    let number = |at: usize| arguments[at].parse::<usize>().expect("a number");
    let (bytes, stride, passes) = (number(0) << 20, number(1), number(2));
    if arguments.len() < 5 {
        let mut memory = vec![0_u8; bytes];
        return run(&mut memory, stride, passes, kind);
    }
    let disk = Disk::in_directory(Path::new(&arguments[4])).expect("a file");
    let mut settings = Settings::new(Bytes((number(3) << 20) as u64), Box::new(disk));
    if let Some(name) = arguments.get(5) {
        settings.prefetch = (name != "off").then(|| Spec::parse(name).expect("a predictor"));
    }
    let extension = Extension::start(settings).expect("extended memory");
    let mut region = extension.map(Bytes(bytes as u64)).expect("a region");
    run(region.as_mut_slice(), stride, passes, kind);
    eprintln!("{:?}", extension.figures());
}

/// A touch of a page in a pass, both by their numbers.
type Kind = fn(&mut [u8], usize, usize);

fn read(memory: &mut [u8], page: usize, _pass: usize) {
    assert_eq!(
        std::hint::black_box(memory[page * PAGE]),
        page as u8,
        "page {page}"
    );
}

fn write(memory: &mut [u8], page: usize, pass: usize) {
    memory[page * PAGE] = std::hint::black_box((page + pass) as u8);
}

fn run(memory: &mut [u8], stride: usize, passes: usize, touch: Kind) {
    for (at, page) in memory.chunks_mut(PAGE).enumerate() {
        page.fill(at as u8);
    }
    let pages = memory.len() / PAGE;
    let began = Instant::now();
    for pass in 1..=passes {
        for first in 0..stride {
            for page in (first..pages).step_by(stride) {
                touch(memory, page, pass);
            }
        }
    }
    let each = began.elapsed().as_secs_f64() * 1e6 / (pages * passes) as f64;
    println!("{each:.2}");
}

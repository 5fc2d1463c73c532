//! A program for the tests and benches to run: many processes, and a storm of forks.
//!
//! `crowd PROCESSES KIBIBYTES STRIDE_PAGES FORKS AT_ONCE [patient]`: PROCESSES processes fill
//! KIBIBYTES of memory each, wait until all have, and walk over it, AT_ONCE of them at once, each
//! in its own order; with `patient`, they wait for pages, which may be fetched ahead meanwhile,
//! until some have come. None ends before the last has walked. Meanwhile their parent forks so
//! often in all, and each time the child reads some of the memory that it has from its parent, and
//! ends. Every process checks what it reads. Prints the numbers of the many processes in a line,
//! and how many pages were read.

mod patience;

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::FromRawFd;
use std::process::ExitCode;

use patience::Patience;

const PAGE: usize = 4096;
/// Pages that a process of the storm reads.
const SIP: usize = 16;
/// Pages that have to come to a patient process.
const ENOUGH: u32 = 8;

struct Settings {
    processes: usize,
    pages: usize,
    stride: usize,
    forks: usize,
    at_once: usize,
    is_patient: bool,
}

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let is_patient = words.pop_if(|word| word == "patient").is_some();
    let numbers = words.iter().map(|text| text.parse().expect("a number"));
    let numbers: Vec<usize> = numbers.collect();
    let &[processes, kibibytes, stride, forks, at_once] = numbers.as_slice() else {
        eprintln!("crowd PROCESSES KIBIBYTES STRIDE_PAGES FORKS AT_ONCE [patient]");
        return ExitCode::from(2);
    };
    let settings = Settings {
        processes,
        pages: kibibytes * 1024 / PAGE,
        stride,
        forks,
        at_once,
        is_patient,
    };
    match run(&settings) {
        Ok(pages) => {
            println!("{pages}");
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("crowd: {e}");
            ExitCode::FAILURE
        }
    }
}

fn run(settings: &Settings) -> io::Result<usize> {
    let inherited = filled(settings.pages.max(SIP * settings.stride), usize::MAX);
    // One byte of `start` lets one process walk, one of `told` says that a process has filled its
    // memory, or walked. All end when nothing can come through `end` any more.
    let (start_from, mut start) = pipe()?;
    let (mut told, tell) = pipe()?;
    let (end_from, end) = pipe()?;
    let mut processes = Vec::new();
    for number in 0..settings.processes {
        let process = fork()?;
        if process == 0 {
            drop((end, start, told));
            let done = live(settings, number, start_from, tell, end_from);
            exit(done.is_ok());
        }
        processes.push(process.to_string());
        wait_for_one(&mut told)?;
    }
    println!("{}", processes.join(" "));
    let mut walking = 0;
    for number in 0..settings.processes {
        if walking == settings.at_once {
            wait_for_one(&mut told)?;
            walking -= 1;
        }
        start.write_all(&[0])?;
        walking += 1;
        let share = |of: usize| settings.forks * of / settings.processes;
        for turn in share(number)..share(number + 1) {
            storm(&inherited, turn, settings.stride)?;
        }
    }
    for _ in 0..walking {
        wait_for_one(&mut told)?;
    }
    drop(end);
    for _ in 0..settings.processes {
        wait_for_child()?;
    }
    Ok(settings.processes * settings.pages + settings.forks * SIP)
}

/// What each of the many processes does.
fn live(
    settings: &Settings,
    number: usize,
    mut start: File,
    mut tell: File,
    mut end: File,
) -> io::Result<()> {
    let memory = filled(settings.pages, number);
    tell.write_all(&[0])?;
    wait_for_one(&mut start)?;
    let mut patience = settings.is_patient.then(|| Patience::of(ENOUGH));
    for first in 0..settings.stride {
        for page in (first..settings.pages).step_by(settings.stride) {
            if let Some(patience) = &mut patience {
                patience.wait_for(&memory[page * PAGE]);
            }
            check(&memory, page, number);
        }
    }
    tell.write_all(&[0])?;
    // Ends with the last.
    end.read(&mut [0]).map(drop)
}

/// Forks a process that reads some pages that it has from us, and waits for it.
fn storm(inherited: &[u8], turn: usize, stride: usize) -> io::Result<()> {
    if fork()? == 0 {
        let pages = inherited.len() / PAGE;
        for sip in 0..SIP {
            check(inherited, (turn * SIP + sip) * stride % pages, usize::MAX);
        }
        exit(true);
    }
    wait_for_child()
}

/// Memory of noise, so that no tier can compress it or leave it out; each page begins with its
/// owner's number.
fn filled(pages: usize, owner: usize) -> Vec<u8> {
    let mut memory = vec![0u8; pages * PAGE];
    let mut noise = owner as u64;
    for page in memory.chunks_exact_mut(PAGE) {
        let (words, _) = page.as_chunks_mut::<8>();
        for word in words {
            noise = noise
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            *word = noise.to_be_bytes();
        }
        page[..size_of::<usize>()].copy_from_slice(&owner.to_ne_bytes());
    }
    memory
}

fn check(memory: &[u8], page: usize, owner: usize) {
    let begin = page * PAGE;
    let found = &memory[begin..begin + size_of::<usize>()];
    assert_eq!(found, owner.to_ne_bytes(), "a page was lost");
}

fn wait_for_one(pipe: &mut File) -> io::Result<()> {
    pipe.read_exact(&mut [0])
}

fn pipe() -> io::Result<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: the kernel writes two descriptors to where it is told, and they are ours alone.
    unsafe {
        if libc::pipe(ends.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])))
    }
}

fn fork() -> io::Result<libc::pid_t> {
    // SAFETY: this program has one thread, so the child may do what it likes.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        process => Ok(process),
    }
}

/// Ends a forked process, without what its parent does at its end.
fn exit(well: bool) -> ! {
    // SAFETY: _exit takes an integer and ends this process alone.
    unsafe { libc::_exit(i32::from(!well)) }
}

fn wait_for_child() -> io::Result<()> {
    let mut status = 0;
    // SAFETY: the kernel writes the status to where it is told, which lives through the call.
    match unsafe { libc::wait(&raw mut status) } {
        -1 => Err(io::Error::last_os_error()),
        _ if status == 0 => Ok(()),
        _ => Err(io::Error::other(format!(
            "a process ended with {status:#x}"
        ))),
    }
}

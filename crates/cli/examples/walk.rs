//! A program for the tests to run: touches a megabyte range once and then walks over it.
//!
//! `walk MEGABYTES STRIDE_PAGES PASSES [fork] [shared] [locked] [patient]`: with `fork`, a child
//! does it all; with `shared`, the memory is a shared mapping; with `locked`, it is locked; with
//! `patient`, each page is waited for, which may be fetched ahead meanwhile. Prints the sum of what
//! it read, which is known, so that a lost page would be seen.

mod patience;

use std::process::{Command, ExitCode};

use patience::Patience;

const PAGE: usize = 4096;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| -> usize {
        let text = arguments.get(index).expect("walk MEGABYTES STRIDE PASSES");
        text.parse().expect("a number")
    };
    let (pages, stride, passes) = (number(0) * 256, number(1), number(2));
    let is_asked = |word: &str| arguments[3..].iter().any(|given| given == word);
    if is_asked("fork") {
        let own = std::env::current_exe().expect("the path of this program");
        let rest = arguments.iter().filter(|word| *word != "fork");
        let status = Command::new(own).args(rest).status();
        return ExitCode::from(u8::from(!status.expect("a child").success()));
    }
    let mut patience = is_asked("patient").then(|| Patience::of(u32::MAX));
    let memory = match is_asked("shared") {
        true => shared(pages * PAGE),
        false => vec![0u8; pages * PAGE].leak(),
    };
    if is_asked("locked") {
        // SAFETY: locks memory of ours, and reads nothing.
        let locked = unsafe { libc::mlock(memory.as_ptr().cast(), memory.len()) };
        assert_eq!(locked, 0, "mlock");
    }
    for page in 0..pages {
        // Noise, so that no tier can compress it or leave it out.
        let start = page * PAGE;
        for (k, byte) in memory[start..start + PAGE].iter_mut().enumerate() {
            *byte = ((page * 2_654_435_761 + k * 40503) >> 7) as u8;
        }
        memory[start] = 1;
    }
    let mut sum = 0usize;
    for _ in 0..passes {
        for first in 0..stride {
            for page in (first..pages).step_by(stride) {
                let byte = &memory[page * PAGE];
                if let Some(patience) = &mut patience {
                    patience.wait_for(byte);
                }
                sum += usize::from(*byte);
            }
        }
    }
    assert_eq!(sum, pages * passes, "a page was lost");
    println!("{sum}");
    ExitCode::SUCCESS
}

/// Returns memory that other processes could share.
fn shared(bytes: usize) -> &'static mut [u8] {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping of zeros, which nobody else has, and which stays to the end.
    unsafe {
        let start = libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0);
        assert_ne!(start, libc::MAP_FAILED, "memory");
        std::slice::from_raw_parts_mut(start.cast(), bytes)
    }
}

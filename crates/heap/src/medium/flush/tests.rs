use std::io::Read;
use std::os::fd::FromRawFd;
use std::sync::atomic::{AtomicI32, Ordering};
use std::{fs::File, mem, ptr};

use super::*;

/// Where a child's fault is reported.
static REPORT: AtomicI32 = AtomicI32::new(-1);

extern "C" fn report(_: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel hands over what it knows of the fault; write and _exit are allowed here.
    unsafe {
        let address = (*info).si_addr() as u64;
        let bytes = address.to_ne_bytes();
        libc::write(REPORT.load(Ordering::Relaxed), bytes.as_ptr().cast(), 8);
        libc::_exit(0);
    }
}

/// Returns the address at which `act` faults in a process of its own; `None` if it does not.
pub fn fault_address(act: impl FnOnce()) -> Option<u64> {
    let mut ends = [0; 2];
    // SAFETY: the child only does what may be done between fork and _exit, if `act` does.
    let (child, mut reader) = unsafe {
        assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
        let child = libc::fork();
        assert!(child >= 0);
        if child == 0 {
            REPORT.store(ends[1], Ordering::Relaxed);
            let mut action: libc::sigaction = mem::zeroed();
            action.sa_sigaction = report as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            libc::sigaction(libc::SIGSEGV, &action, ptr::null_mut());
            act();
            libc::_exit(1);
        }
        libc::close(ends[1]);
        (child, File::from_raw_fd(ends[0]))
    };
    let mut address = [0; 8];
    let reported = reader.read_exact(&mut address).is_ok();
    // SAFETY: it is our child, and nothing else waits for it.
    unsafe { libc::waitpid(child, ptr::null_mut(), 0) };
    reported.then(|| u64::from_ne_bytes(address))
}

/// Returns a page that may not be accessed.
fn forbidden_page() -> *mut u8 {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping.
    let page = unsafe { libc::mmap(ptr::null_mut(), 4096, libc::PROT_NONE, flags, -1, 0) };
    assert_ne!(page, libc::MAP_FAILED);
    page.cast()
}

/// The operand is the line that the argument points to: flushing a page that may not be touched
/// faults at that line. Flushing the place where the pointer is kept, as nvm_malloc does, does not.
#[test]
fn the_line_at_the_address_is_flushed_and_no_other() {
    let page = forbidden_page();
    let instructions = Instruction::all_detected();
    assert!(instructions.contains(&Instruction::Clflush));
    for by in instructions {
        for at in [0, 1, 63, 64, 1000, 4095] {
            let address = page.wrapping_add(at);
            // SAFETY: it cannot be read, which is what is tested, in a process of its own.
            let fault = fault_address(|| unsafe { flush_line(by, address) });
            let line = fault.map(|fault| fault / 64 * 64);
            assert_eq!(line, Some(address as u64 / 64 * 64), "{by} {at}");
        }
    }
}

#[test]
fn a_flush_changes_no_bytes() {
    let bytes: Vec<u8> = (0..=255).collect();
    for by in Instruction::all_detected() {
        // SAFETY: each of them can be read.
        bytes
            .iter()
            .for_each(|byte| unsafe { flush_line(by, byte) });
        fence();
        assert!(bytes.iter().copied().eq(0..=255));
    }
}

#[test]
fn a_streamed_line_is_that_line() {
    #[repr(align(64))]
    struct Lines([u8; 192]);
    let mut lines = Lines([9; 192]);
    let line: [u8; 64] = std::array::from_fn(|i| i as u8);
    // SAFETY: the second of three lines.
    unsafe { stream_line(lines.0.as_mut_ptr().add(64), &line) };
    fence();
    assert_eq!(lines.0[..64], [9; 64]);
    assert_eq!(lines.0[64..128], line);
    assert_eq!(lines.0[128..], [9; 64]);
}

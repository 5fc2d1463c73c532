//! Copying a page that may not be there.
//!
//! A page of the program can be unmapped, protected or beyond the end of its file at any moment, by
//! another thread or process, and asking the kernel to copy it (`process_vm_readv`) takes 1.2 us
//! where the copy takes 0.04. So it is copied by one instruction, a word by a load, and a handler
//! of SIGSEGV and SIGBUS continues behind it where the instruction faulted. Any other fault goes to
//! the handler that was there: QEMU's.

use std::mem::MaybeUninit;

use crate::page::{Line, Page, Word};

/// Bytes of a word.
#[cfg(target_arch = "x86_64")]
const WORD_BYTES: usize = size_of::<Word>();

/// Bytes of which any are a value: a page, or a part of one, at a multiple of its size.
pub trait Plain: Copy {}
impl Plain for Page {}
impl Plain for Line {}
impl Plain for Word {}

/// Copies the page, line or word at `from`; none where it cannot be read.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn copy<T: Plain>(from: *const T, buffer: &mut MaybeUninit<T>) -> Option<&T> {
    let copy = match size_of::<T>() {
        WORD_BYTES => x86_64::terrace_load,
        _ => x86_64::terrace_copy,
    };
    // SAFETY: both write as many bytes into the buffer as it has, read those at `from` by one
    // instruction whose faults are caught, and return whether all were copied.
    unsafe { copy(buffer.as_mut_ptr().cast(), from.cast(), size_of::<T>()) }
        // SAFETY: all bytes were written, and any bytes are a value.
        .then(|| unsafe { buffer.assume_init_ref() })
}

#[cfg(target_arch = "x86_64")]
pub use x86_64::prepare;

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::global_asm;
    use std::ffi::{c_int, c_void};
    use std::io;
    use std::mem::MaybeUninit;
    use std::sync::OnceLock;

    // Nothing is on the stack but the return address, so that both ways out are the same. The
    // direction flag is clear at a call, as the calling convention demands.
    global_asm!(
        ".pushsection .text",
        ".hidden terrace_copy, terrace_copy_reads, terrace_copy_fails, terrace_load, terrace_load_reads",
        ".globl terrace_copy, terrace_copy_reads, terrace_copy_fails, terrace_load, terrace_load_reads",
        "terrace_copy:",
        "mov rcx, rdx",
        "terrace_copy_reads:",
        "rep movsb",
        "mov eax, 1",
        "ret",
        "terrace_load:",
        "terrace_load_reads:",
        "mov rax, [rsi]",
        "mov [rdi], rax",
        "mov eax, 1",
        "ret",
        "terrace_copy_fails:",
        "xor eax, eax",
        "ret",
        ".popsection",
    );

    unsafe extern "C" {
        pub(super) fn terrace_copy(to: *mut u8, from: *const u8, bytes: usize) -> bool;
        /// Copies a word, whatever `bytes` is.
        pub(super) fn terrace_load(to: *mut u8, from: *const u8, bytes: usize) -> bool;
        fn terrace_copy_reads();
        fn terrace_load_reads();
        fn terrace_copy_fails();
    }

    /// The handlers that were there, of SIGSEGV and SIGBUS.
    static BEFORE: [OnceLock<libc::sigaction>; 2] = [const { OnceLock::new() }; 2];

    /// Has faults of [`copy`](super::copy) caught, from now on; to be called by one thread at a
    /// time.
    ///
    /// # Errors
    /// Returns the error of the system, which refused a handler.
    pub fn prepare() -> io::Result<()> {
        for (signal, before) in [libc::SIGSEGV, libc::SIGBUS].into_iter().zip(&BEFORE) {
            if before.get().is_some() {
                continue;
            }
            let mut action = MaybeUninit::<libc::sigaction>::uninit();
            // SAFETY: only asks, and fills the action where it succeeds.
            let asked = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
            if asked != 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: filled above.
            let mut action = unsafe { action.assume_init() };
            let _ = before.set(action);
            action.sa_sigaction = on_fault as *const () as usize;
            action.sa_flags |= libc::SA_SIGINFO;
            // SAFETY: the handler is safe to call at any time, with the arguments of SA_SIGINFO,
            // and the signals blocked that the handler before wants blocked.
            if unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }

    unsafe extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        // SAFETY: the kernel passes the state of the thread, which is its own during the call.
        let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
        let at = &mut registers[libc::REG_RIP as usize];
        let reads = [terrace_copy_reads, terrace_load_reads].map(|reads| reads as *const () as i64);
        if reads.contains(at) {
            *at = terrace_copy_fails as *const () as i64;
            return;
        }
        // SAFETY: as this handler was called.
        unsafe { pass_on(signal, info, context) };
    }

    /// Calls the handler that was there before.
    ///
    /// # Safety
    /// The arguments must be those of a handler with `SA_SIGINFO`.
    unsafe fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        let before = BEFORE[usize::from(signal == libc::SIGBUS)].get();
        let handler = before.map_or(libc::SIG_DFL, |before| before.sa_sigaction);
        let wants_all = before.is_some_and(|before| before.sa_flags & libc::SA_SIGINFO != 0);
        if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
            // The instruction faults again and ends the process.
            // SAFETY: takes integers.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        } else if wants_all {
            // SAFETY: a handler that was installed with these arguments.
            unsafe {
                let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                    std::mem::transmute(handler);
                handler(signal, info, context);
            }
        } else {
            // SAFETY: a handler that was installed with this argument.
            unsafe {
                let handler: extern "C" fn(c_int) = std::mem::transmute(handler);
                handler(signal);
            }
        }
    }
}

/// Copies the page, line or word at `from`; none where it cannot be read.
#[cfg(not(target_arch = "x86_64"))]
pub fn copy<T: Plain>(from: *const T, buffer: &mut MaybeUninit<T>) -> Option<&T> {
    let length = size_of::<T>();
    let (local, remote) = (
        libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: length,
        },
        libc::iovec {
            iov_base: from.cast_mut().cast(),
            iov_len: length,
        },
    );
    // SAFETY: writes at most a page into the buffer; what is read is checked by the kernel.
    let read = unsafe {
        libc::process_vm_readv(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0)
    };
    // SAFETY: all bytes were written, and any bytes are a value.
    (usize::try_from(read) == Ok(length)).then(|| unsafe { buffer.assume_init_ref() })
}

/// Has faults of [`copy`] caught: the kernel does that here.
///
/// # Errors
/// Never fails.
#[cfg(not(target_arch = "x86_64"))]
pub fn prepare() -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests;

//! Persistent memory for recordings, which see loads and stores but no flushes: a flush is a load
//! by one instruction, by whose address a simulator knows it (`terrace sim llc --flush-ip`).

use std::sync::atomic::{AtomicBool, Ordering};

use terrace_heap::contiguity::Purpose;
use terrace_heap::medium::{LINE_BYTES, lines};
use terrace_heap::{Counts, Heap, Kind, Mapped, Medium, Result};

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".globl terrace_flush_line",
    "terrace_flush_line: mov al, byte ptr [rdi]",
    "ret"
);
#[cfg(target_arch = "aarch64")]
std::arch::global_asm!(
    ".globl terrace_flush_line",
    "terrace_flush_line: ldrb w0, [x0]",
    "ret"
);

unsafe extern "C" {
    /// Its first instruction loads the byte at `line`.
    fn terrace_flush_line(line: *const u8) -> u8;
}

/// Prints the address of the instruction that marks flushes, before the first of them.
pub fn say_instruction() {
    eprintln!("flush-ip {:#x}", terrace_flush_line as *const () as usize);
}

/// Whether flushes are left out at the moment.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Calls `work` without marking its flushes.
pub fn quietly<T>(work: impl FnOnce() -> T) -> T {
    QUIET.store(true, Ordering::Relaxed);
    let done = work();
    QUIET.store(false, Ordering::Relaxed);
    done
}

/// Marks lines of a pool as flushed.
pub fn flush<M: Medium>(heap: &Heap<M>, offset: u64, len: u64) {
    for line in lines::lines(offset, len) {
        let at = heap.base().wrapping_add((line * LINE_BYTES) as usize);
        // SAFETY: what is flushed is an object or a root of the pool, which stays mapped while the
        // heap is open.
        unsafe { terrace_flush_line(at) };
    }
}

/// Anonymous memory that marks its flushes.
pub struct Marked {
    memory: Mapped,
}

impl Marked {
    pub fn new(bytes: u64) -> Result<Self> {
        let memory = Mapped::anonymous(bytes)?;
        Ok(Self { memory })
    }
}

// SAFETY: the memory is the inner medium's.
unsafe impl Medium for Marked {
    fn base(&self) -> *mut u8 {
        self.memory.base()
    }
    fn len(&self) -> u64 {
        self.memory.len()
    }
    fn max_len(&self) -> u64 {
        self.memory.max_len()
    }
    fn grow(&self, len: u64) -> Result<()> {
        self.memory.grow(len)
    }
    #[inline]
    fn store(&self, offset: u64, bytes: &[u8]) {
        self.memory.store(offset, bytes);
    }
    #[inline]
    fn store_word(&self, offset: u64, word: u64) {
        self.memory.store_word(offset, word);
    }
    #[inline]
    fn flush(&self, offset: u64, len: u64) {
        if QUIET.load(Ordering::Relaxed) {
            return;
        }
        for line in lines::lines(offset, len) {
            let at = (line * LINE_BYTES) as usize;
            // SAFETY: what is flushed was stored before, so it lies within the pool.
            unsafe { terrace_flush_line(self.base().add(at)) };
        }
    }
    fn fence(&self) -> Result<()> {
        Ok(())
    }
    fn prepare(&self, offset: u64, len: u64, purpose: Purpose) {
        self.memory.prepare(offset, len, purpose);
    }
    fn counts(&self) -> Counts {
        self.memory.counts()
    }
    fn kind(&self) -> Kind {
        self.memory.kind()
    }
}

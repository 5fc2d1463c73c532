//! Instructions of the processor: writing one cache line back, copying past the caches, and fences.
//!
//! Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, CLWB, CLFLUSHOPT,
//! CLFLUSH, MOVNTI, PREFETCHh, SFENCE and CPUID. A processor of another kind has no [`Instruction`]
//! here: what becomes durable there does so through the kernel.

use super::Instruction;

#[cfg(target_arch = "x86_64")]
pub(super) use x86_64::{fence, flush_line, prefetch_line, stream_line};

#[cfg(not(target_arch = "x86_64"))]
pub(super) use portable::{fence, flush_line, prefetch_line, stream_line};

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::asm;
    use std::arch::x86_64::{
        __cpuid, __cpuid_count, _MM_HINT_T0, _mm_prefetch, _mm_sfence, _mm_stream_si64,
    };

    use super::Instruction;

    impl Instruction {
        /// Returns the best instruction of this processor; `None` if a written-back line is not
        /// durable, or not known to be.
        pub fn detect() -> Option<Self> {
            Self::all_detected().into_iter().next()
        }

        /// Returns all instructions that this processor has, best first.
        pub(in crate::medium) fn all_detected() -> Vec<Self> {
            let (first, extended) = features();
            let has = [
                (Instruction::Clwb, extended & 1 << 24 != 0),
                (Instruction::Clflushopt, extended & 1 << 23 != 0),
                (Instruction::Clflush, first & 1 << 19 != 0),
            ];
            let present = has.into_iter().filter(|(_, present)| *present);
            present.map(|(instruction, _)| instruction).collect()
        }
    }

    /// Returns CPUID leaf 1, EDX, and leaf 7, EBX.
    #[allow(unused_unsafe, reason = "newer compilers take these for safe")]
    fn features() -> (u32, u32) {
        // SAFETY: every x86-64 has CPUID, and each leaf is asked for only if there is one.
        unsafe {
            let extended = match __cpuid(0).eax {
                7.. => __cpuid_count(7, 0).ebx,
                _ => 0,
            };
            (__cpuid(1).edx, extended)
        }
    }

    /// Begins to write back the cache line of `address`.
    ///
    /// # Safety
    ///
    /// The processor has the instruction, and the address can be read.
    #[inline]
    pub unsafe fn flush_line(by: Instruction, address: *const u8) {
        // The operand is memory that a register points to. An operand "m" of the pointer itself
        // would flush the stack, as nvm_malloc does. Not `nomem`: stores before stay before.
        // SAFETY: the caller's; no flag and no register is changed.
        unsafe {
            match by {
                Instruction::Clwb => {
                    asm!("clwb [{}]", in(reg) address, options(nostack, preserves_flags));
                }
                Instruction::Clflushopt => {
                    asm!("clflushopt [{}]", in(reg) address, options(nostack, preserves_flags));
                }
                Instruction::Clflush => {
                    asm!("clflush [{}]", in(reg) address, options(nostack, preserves_flags));
                }
            }
        }
    }

    /// Stores one line past the caches.
    ///
    /// # Safety
    ///
    /// `line` is a multiple of 64 and points to 64 bytes that can be written, and that are changed
    /// only by atomic stores and by this.
    #[inline]
    pub unsafe fn stream_line(line: *mut u8, bytes: &[u8; 64]) {
        for (i, word) in bytes.as_chunks::<8>().0.iter().enumerate() {
            // SAFETY: promised by the caller.
            unsafe { _mm_stream_si64(line.cast::<i64>().add(i), i64::from_ne_bytes(*word)) };
        }
    }

    /// Begins to fetch the line of an address. Does nothing for an invalid address.
    #[inline]
    pub fn prefetch_line(address: *const u8) {
        // SAFETY: every x86-64 has it, and it takes any address.
        #[allow(unused_unsafe, reason = "newer compilers take it for safe")]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(address.cast());
        }
    }

    /// Waits until what this thread has flushed and streamed is durable.
    #[inline]
    pub fn fence() {
        // SAFETY: every x86-64 has it.
        #[allow(unused_unsafe, reason = "newer compilers take it for safe")]
        unsafe {
            _mm_sfence();
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod portable {
    use std::sync::atomic::{self, Ordering};

    use super::Instruction;
    use crate::medium::words::store_words;

    impl Instruction {
        /// Returns `None`: no instruction of this processor is known here.
        pub fn detect() -> Option<Self> {
            None
        }
    }

    /// Never called: its callers need an [`Instruction`], and there is none.
    ///
    /// # Safety
    ///
    /// Returns no instructions.
    pub unsafe fn flush_line(_: Instruction, _: *const u8) {}

    /// Stores one line.
    ///
    /// # Safety
    ///
    /// `line` is a multiple of 64 and points to 64 bytes that can be written, and that are changed
    /// only by atomic stores.
    pub unsafe fn stream_line(line: *mut u8, bytes: &[u8; 64]) {
        // SAFETY: promised by the caller.
        unsafe { store_words(line, 0, bytes) };
    }

    /// Does nothing.
    pub fn prefetch_line(_: *const u8) {}

    /// Orders stores, but makes nothing durable.
    pub fn fence() {
        atomic::fence(Ordering::SeqCst);
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
pub(super) mod tests;

//! The memory of the emulated program, read from within the emulator.
//!
//! QEMU maps it into its own process, at the program's addresses plus one base.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::OnceLock;

use crate::copy;
use crate::page::{BYTES, LINE, Line, Page, SHIFT, Word};

/// The memory of the emulated program, looked for when it is first read: the program runs by then.
#[derive(Debug, Default)]
pub struct Running(OnceLock<Guest>);

impl Running {
    /// Returns the memory, of which [`Guest::page`] and [`Guest::line`] may be read.
    #[inline]
    pub fn guest(&self) -> &Guest {
        self.0.get_or_init(|| {
            // Only now: QEMU has installed its own handlers, and set the base.
            let _ = copy::prepare();
            Guest::of_this_process()
        })
    }
}

/// The memory of the emulated program, which may lack any page at any time.
#[derive(Debug)]
pub struct Guest {
    /// The address in this process of the program's address 0.
    base: u64,
}

impl Guest {
    /// Returns the memory of the program that this process emulates. Before the program runs the
    /// base is not known.
    pub fn of_this_process() -> Self {
        // SAFETY: where QEMU has a variable of this name it is an address, set before the
        // program runs and never again.
        let base = unsafe { base().cast::<u64>().as_ref() };
        Self {
            base: base.copied().unwrap_or(0),
        }
    }

    /// Whether this emulator tells where the program's memory is.
    pub fn is_told() -> bool {
        !base().is_null()
    }

    /// Reads up to the end of `buffer` or of the page, and returns the number of bytes, 0 where
    /// none is mapped.
    pub fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        let in_page = BYTES - address as usize % BYTES;
        let length = buffer.len().min(in_page);
        let local = libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: length,
        };
        let remote = libc::iovec {
            iov_base: self.base.wrapping_add(address) as *mut c_void,
            iov_len: length,
        };
        // SAFETY: writes at most `length` bytes into the buffer; what is read is checked by the
        // kernel, which answers with an error where nothing is mapped.
        let read = unsafe {
            libc::process_vm_readv(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0)
        };
        usize::try_from(read).unwrap_or(0)
    }

    /// Returns the address in this process of an address of the program.
    pub fn host(&self, address: u64) -> u64 {
        self.base.wrapping_add(address)
    }

    /// Returns the 8 bytes at an address as a number; none where they are not mapped.
    pub fn number(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        let first = self.read(address, &mut bytes);
        let rest = address.wrapping_add(first as u64);
        let whole = first == 8 || (first > 0 && self.read(rest, &mut bytes[first..]) == 8 - first);
        whole.then(|| u64::from_le_bytes(bytes))
    }

    /// Reads a page, named by its number, thirty times as fast as [`Guest::read`]; none where it is
    /// not mapped. [`copy::prepare`] must have been called, and the thread must not block SIGSEGV
    /// and SIGBUS: QEMU blocks neither while it executes the program.
    #[inline]
    pub fn page<'a>(&self, number: u64, buffer: &'a mut MaybeUninit<Page>) -> Option<&'a Page> {
        let from = self.base.wrapping_add(number << SHIFT) as *const Page;
        copy::copy(from, buffer)
    }

    /// Reads the aligned word of an address as a number; otherwise as [`Guest::page`].
    #[inline]
    pub fn word(&self, address: u64) -> Option<u64> {
        let mut buffer: MaybeUninit<Word> = MaybeUninit::uninit();
        let from = self.base.wrapping_add(address & !7) as *const Word;
        copy::copy(from, &mut buffer).map(|word| u64::from_ne_bytes(*word))
    }

    /// Reads a line of a page, both named by their numbers; otherwise as [`Guest::page`].
    #[inline]
    pub fn line<'a>(
        &self,
        page: u64,
        line: usize,
        buffer: &'a mut MaybeUninit<Line>,
    ) -> Option<&'a Line> {
        let address = (page << SHIFT) + (line * LINE) as u64;
        copy::copy(self.base.wrapping_add(address) as *const Line, buffer)
    }
}

/// The address of QEMU's variable with the base; null where it exports none.
fn base() -> *mut c_void {
    // SAFETY: a name that ends in zero.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"guest_base".as_ptr()) }
}

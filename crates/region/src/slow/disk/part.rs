//! A part of a page that is transferred.

use std::fs::File;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::fs::FileExt;

use io_uring::{opcode, types};

/// A part of a page, in a row.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub ticket: u32,
    pub write: bool,
    pub layer: u8,
    /// Buffers of a [`Row`], if it is the transfer of one; the number of bytes is that of all of
    /// them.
    pub row: Option<(*const libc::iovec, u32)>,
    /// The buffer of its flight at the part's first byte.
    pub bytes: *mut u8,
    pub number: u32,
    pub offset: u64,
}

// SAFETY: the buffer is owned by the flight, which goes wherever the part does.
unsafe impl Send for Part {}

impl Part {
    pub fn entry(self, file: RawFd) -> io_uring::squeue::Entry {
        let Self { bytes, number, .. } = self;
        let (file, offset) = (types::Fd(file), self.offset);
        let entry = match (self.row, self.write) {
            (Some((parts, pages)), true) => opcode::Writev::new(file, parts, pages)
                .offset(offset)
                .build(),
            (Some((parts, pages)), false) => opcode::Readv::new(file, parts, pages)
                .offset(offset)
                .build(),
            (None, true) => opcode::Write::new(file, bytes, number)
                .offset(offset)
                .build(),
            (None, false) => opcode::Read::new(file, bytes, number)
                .offset(offset)
                .build(),
        };
        entry.user_data(self.data())
    }

    /// Returns what the end of the part is known by: its ticket, and the bytes that it has if all
    /// went well.
    pub fn data(self) -> u64 {
        u64::from(self.number) << 32 | u64::from(self.ticket)
    }

    pub fn carry_out(self, file: &File) -> io::Result<()> {
        // SAFETY: the part lies in the buffer of its flight, which nothing else refers to.
        let bytes = unsafe { std::slice::from_raw_parts_mut(self.bytes, self.number as usize) };
        match self.write {
            true => file.write_all_at(bytes, self.offset),
            false => file.read_exact_at(bytes, self.offset),
        }
    }
}

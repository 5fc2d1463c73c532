//! Memory that a process gave back to the kernel: unmapped, mapped over, discarded by advice, or
//! left behind when the process ended. What its pages held is gone, and a touch of one is a first
//! touch again.
//!
//! What a page holds after that is told as any change of its contents is ([`crate::contents`]):
//! with the next row of the page.

pub use terrace_recorder::discard::ALL;

/// Pages that a process gave back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discard {
    /// The row before which they were given back, counted from the beginning of its block. It is
    /// the next row of the thread that gave them back, or of any thread where a process has ended.
    pub row: u64,
    /// The process.
    pub process: u16,
    /// The number of the first page: its address is 4096 times that.
    pub page: u64,
    /// How many pages; most may never have been touched.
    pub pages: u64,
}

impl Discard {
    /// Returns the number of the page after the last.
    pub fn end(&self) -> u64 {
        self.page.saturating_add(self.pages)
    }
}

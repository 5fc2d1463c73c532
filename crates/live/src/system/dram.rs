//! DRAM of the machine, and the part that a program may use.

use std::fmt;
use std::hint::black_box;

use serde::Deserialize;
use terrace_base::memory::meminfo;
pub use terrace_base::memory::total;
use terrace_base::{Bytes, Error, Result};
use terrace_policy::PAGE_BYTES;

/// DRAM that a program may use.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub enum Dram {
    /// A size.
    Bytes(Bytes),
    /// A share of its footprint, above 0 and up to 1.
    Share(f64),
}

impl Dram {
    /// Parses a size, or a share as `25%`.
    ///
    /// # Errors
    /// A usage error if it is neither, or larger than the machine's memory.
    pub fn parse(text: &str) -> Result<Self> {
        let Some(percent) = text.strip_suffix('%') else {
            let size = Bytes::parse_memory(text, true)?;
            let memory = total();
            if size > memory {
                return Err(Error::usage(format!(
                    "a DRAM budget of {size} is larger than this machine's {memory}; \
                     name less, or run the program without terrace"
                )));
            }
            return Ok(Self::Bytes(size));
        };
        match percent.trim().parse::<f64>() {
            Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(Self::Share(percent / 100.0)),
            _ => Err(Error::usage(format!(
                "`{text}` is no share of the footprint; name one above 0% and up to 100%"
            ))),
        }
    }
}

impl fmt::Display for Dram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => bytes.fmt(f),
            // 0.07 times 100 must show no more digits than were typed.
            Self::Share(share) => write!(f, "{}%", (share * 1e8).round() / 1e6),
        }
    }
}

impl TryFrom<String> for Dram {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        Self::parse(&text)
    }
}

/// Returns the memory that programs can have without swapping, as the kernel estimates it.
pub fn available() -> Bytes {
    meminfo("MemAvailable:").unwrap_or_default()
}

/// Touches this much memory for a moment, or what is available if that is less.
///
/// The host of a virtual machine may reclaim memory that is free for some seconds (free page
/// reporting), and its next user waits for the host: filling 610 MiB took 1.2 s instead of 0.1. A
/// program under a budget reuses a little memory and hardly meets that, so a run with DRAM alone
/// would seem slower than it is.
pub fn warm(wanted: Bytes) {
    let bytes = wanted.0.min(available().0 / 10 * 9);
    let mut memory: Vec<u8> = Vec::new();
    if !usize::try_from(bytes).is_ok_and(|bytes| memory.try_reserve_exact(bytes).is_ok()) {
        return;
    }
    in_huge_pages(&mut memory);
    memory.resize(memory.capacity(), 1);
    black_box(&memory);
}

/// Asks for huge pages, so that the memory is freed in large pieces, which the next large
/// allocation gets. A kernel without huge pages ignores this.
fn in_huge_pages(memory: &mut Vec<u8>) {
    let room = memory.spare_capacity_mut();
    let page = PAGE_BYTES as usize;
    let skipped = room.as_ptr().align_offset(page).min(room.len());
    let room = &mut room[skipped..];
    let whole = room.len() / page * page;
    // SAFETY: the whole pages of memory that is ours. Advice changes nothing that is in it.
    unsafe { libc::madvise(room.as_mut_ptr().cast(), whole, libc::MADV_HUGEPAGE) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_and_given_back() {
        assert!(available() > Bytes(1 << 20));
        assert!(available() < total());
        for bytes in [0, 1, 16 << 20] {
            warm(Bytes(bytes));
        }
        assert!(available() > Bytes(1 << 20));
    }

    #[test]
    fn budgets_as_people_write_them() {
        assert_eq!(Dram::parse("64M"), Ok(Dram::Bytes(Bytes(64 << 20))));
        assert_eq!(Dram::parse("25%"), Ok(Dram::Share(0.25)));
        for text in ["25%", "7%", "12.5%", "64.0 MiB"] {
            assert_eq!(Dram::parse(text).unwrap().to_string(), text);
        }
        for (text, why) in [
            ("0%", "no share"),
            ("101%", "no share"),
            ("-5%", "no share"),
            ("x%", "no share"),
            ("NaN%", "no share"),
            ("1E", "larger than this machine's"),
            ("0", "zero"),
            ("25", "25%?"),
        ] {
            let error = Dram::parse(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}

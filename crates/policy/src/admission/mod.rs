//! Admission: which pages are written to a flash level behind DRAM.
//!
//! Flash wears out by what is written to it, and most pages of a file system are not read again. An
//! [`Admission`] policy has no clock and writes nothing. A driver reports to it, with its own count
//! of time:
//!
//! 1. [`Admission::missed`] and [`Admission::hit`]: a read that DRAM did not serve, and flash did
//!    not either, or did. What DRAM serves is not told: it is no use of the flash.
//! 2. [`Admission::wants`]: whether a page that could be written to flash now should be. The answer
//!    changes nothing. A driver asks when it reads the page, or when DRAM evicts it.
//! 3. [`Admission::admitted`]: the page is on flash.
//! 4. [`Admission::wrote`]: bytes that were written to the flash device, for this page or to make
//!    room.
//!
//! Policies are joined to a [`Chain`], which admits what all of them do.
//!
//! To add a policy: copy [`size`], name it in [`REGISTRY`], and give it a slow twin in
//! `tests/admission/slow`.

pub mod all;
mod bucket;
mod chain;
mod ghost;
mod make;
mod registry;
pub mod rules;
pub mod second_read;
pub mod sequential;
pub mod size;
pub mod sketch;
mod sketched;
pub mod write_budget;

use std::time::Duration;

pub use chain::Chain;
pub use make::{Entry, Machine, Made, Make, Spec};
pub use registry::REGISTRY;
pub use sketched::MOST;

/// A page that is read, or could be written to flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Its number. Pages that follow each other in a file have numbers that do; those of different
    /// files are different.
    pub page: u64,
    /// Size of its file in bytes, or of the request where files are not known.
    pub size: u64,
    /// Time since the driver began. A time before an earlier one counts as that one.
    pub time: Duration,
}

/// Whether a page should be written to flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It should.
    Admit,
    /// It should not, by the policy of this name.
    Refuse(&'static str),
}

/// Decides which pages are written to flash.
///
/// Calls in any order are allowed, about any page.
pub trait Admission: Send {
    /// Handles a read that neither DRAM nor flash served.
    fn missed(&mut self, _: &Request) {}

    /// Handles a read that flash served.
    fn hit(&mut self, _: &Request) {}

    /// Whether a page should be written to flash.
    fn wants(&self, request: &Request) -> Answer;

    /// Whether a page may leave flash for DRAM and be written again later: there is no budget of
    /// writes. A driver whose pages are either in DRAM or on flash asks this before it moves one
    /// up.
    fn affords(&self, _: &Request) -> bool {
        true
    }

    /// Handles that a page was written to flash.
    fn admitted(&mut self, _: &Request) {}

    /// Handles that so many bytes were written to the flash device.
    fn wrote(&mut self, _bytes: u64, _time: Duration) {}
}

/// Admits if `worth`, and refuses by this name otherwise.
fn admit_if(worth: bool, name: &'static str) -> Answer {
    match worth {
        true => Answer::Admit,
        false => Answer::Refuse(name),
    }
}

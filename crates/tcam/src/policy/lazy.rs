//! A row of flash that became invalid stays programmed until its block is erased; if the same route
//! comes back before that, the row becomes valid again and nothing is written.
//!
//! The valid flag is CMOS and is written at the speed of the clock (Fedorov 2016, 4.3.3), so a flap
//! of a route that lies in flash costs two writes of a flag: withdrawn and announced, or to another
//! port and back.

use super::make::{Entry, Make};
use super::{Admission, Announced, UpdatePolicy};

/// The policy in the registry.
pub const ENTRY: Entry = Entry {
    name: "lazy",
    summary: "an invalid row of flash is revived if the same route comes back",
    paper: "none: the valid flags of Fedorov 2016, 4.3.3, used in the other direction",
    when: "Tables whose routes flap. It costs DRAM for a list of invalid rows.",
    evidence: terrace_policy::registry::Evidence::NONE,
    make: Make(&|_| Ok(Box::new(Lazy))),
};

/// Revives what it can.
struct Lazy;

impl UpdatePolicy for Lazy {
    fn admit(&self, announced: Announced) -> Admission {
        match announced.invalid == Some(announced.route.port) {
            true => Admission::Revive,
            false => Admission::Write,
        }
    }

    fn revives(&self) -> bool {
        true
    }
}

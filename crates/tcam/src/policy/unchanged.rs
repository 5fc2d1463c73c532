//! An announcement of a route that is in the table with the same port is not written.
//!
//! BGP announces a route again when any attribute changes, most often the path, and the TCAM holds
//! none of them but the next hop. The firmware has the golden copy in DRAM and can compare.

use super::make::{Entry, Make};
use super::{Admission, Announced, UpdatePolicy};

/// The policy in the registry.
pub const ENTRY: Entry = Entry {
    name: "unchanged",
    summary: "an announcement that leaves the port as it is is not written",
    paper: "none: the golden copy of Fedorov 2016, 4.3.3, is compared with the announcement",
    when: "Always: it costs a look into DRAM. What it saves depends on how often announcements change the port.",
    evidence: terrace_policy::registry::Evidence::NONE,
    make: Make(&|_| Ok(Box::new(Unchanged))),
};

/// Compares with the golden copy.
struct Unchanged;

impl UpdatePolicy for Unchanged {
    fn admit(&self, announced: Announced) -> Admission {
        match announced.before == Some(announced.route.port) {
            true => Admission::Skip,
            false => Admission::Write,
        }
    }
}

//! Bytes that were written to the tier for a service.
//!
//! Newer kernels count them by group under version 2 (`pswpout` of `memory.stat`). Elsewhere two
//! things are known: while we have pages written, the machine's count, of which at most the pages
//! that we named are the service's; and in between by how much its places in the tier grow, which
//! is no more than was written for it. Writes of another program are never among them.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use terrace_base::Bytes;

use super::memory::Held;
use crate::group::cgroup::value_of;
use crate::group::counters::SwapCounters;
use crate::group::hierarchy::Version;

/// What the bytes written for a service are known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteSource {
    /// The kernel's count of the group.
    Group,
    /// The writes of our own steps, and the growth of the places in the tier: at least that.
    Steps,
}

impl WriteSource {
    /// Returns its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Group => "group",
            Self::Steps => "steps",
        }
    }
}

impl fmt::Display for WriteSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Group => "the kernel's count of the group (pswpout)",
            Self::Steps => {
                "the pages that terrace had written and the growth of places in the tier, at least"
            }
        })
    }
}

/// Counts the bytes written for a service.
pub(super) struct Writes {
    group: Option<PathBuf>,
    /// The group's count, or the places in the tier, at the look before.
    before: Bytes,
    /// Bytes of our own steps since the look before.
    own: Bytes,
}

impl Writes {
    /// Makes the count of a service with a group, which has so much now.
    pub fn of(group: Option<(&Path, Version)>, held: &Held) -> Self {
        let counted = group
            .filter(|(group, version)| *version == Version::V2 && count(group).is_some())
            .map(|(group, _)| group.to_owned());
        Self {
            before: counted.as_deref().and_then(count).unwrap_or(held.places),
            group: counted,
            own: Bytes(0),
        }
    }

    /// Returns what they are known from.
    pub fn source(&self) -> WriteSource {
        match self.group {
            Some(_) => WriteSource::Group,
            None => WriteSource::Steps,
        }
    }

    /// Notes a step of ours in which so many pages were named, between these two states of the
    /// machine's counters and of the service.
    pub fn step(&mut self, named: u64, swap: [SwapCounters; 2], held: [&Held; 2]) {
        let written = swap[1].since(swap[0]).written.min(named);
        // What grew before the step is of others' hands.
        let grew = held[0].places.0.saturating_sub(self.before.0);
        self.own.0 += Bytes::of_pages(written).0 + grew;
        if self.group.is_none() {
            self.before = held[1].places;
        }
    }

    /// Returns the bytes since the call before.
    pub fn since(&mut self, held: &Held) -> Bytes {
        let now = match &self.group {
            Some(group) => count(group).unwrap_or(self.before),
            None => held.places,
        };
        let grew = now
            .0
            .saturating_sub(std::mem::replace(&mut self.before, now).0);
        let own = std::mem::take(&mut self.own);
        match self.group {
            Some(_) => Bytes(grew),
            None => Bytes(grew + own.0),
        }
    }
}

fn count(group: &Path) -> Option<Bytes> {
    let text = fs::read_to_string(group.join("memory.stat")).ok()?;
    value_of(&text, "pswpout").map(Bytes::of_pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(pages: u64) -> Held {
        Held {
            places: Bytes::of_pages(pages),
            ..Held::default()
        }
    }

    fn written(pages: u64) -> SwapCounters {
        SwapCounters {
            written: pages,
            ..SwapCounters::default()
        }
    }

    #[test]
    fn writes_of_others_are_not_the_service_s() {
        let mut writes = Writes::of(None, &held(10));
        assert_eq!(writes.source(), WriteSource::Steps);
        // Of 900 pages that the machine wrote in our step, 20 were named.
        writes.step(20, [written(100), written(1000)], [&held(10), &held(30)]);
        assert_eq!(writes.since(&held(30)), Bytes::of_pages(20));
        // Pages that had their places are written again; the kernel moves 5 by itself.
        writes.step(20, [written(1000), written(1007)], [&held(33), &held(33)]);
        assert_eq!(writes.since(&held(35)), Bytes::of_pages(7 + 3 + 2));
        assert_eq!(
            writes.since(&held(0)),
            Bytes(0),
            "places that are given back"
        );
    }

    #[test]
    fn the_kernel_s_count_of_the_group_is_exact() {
        let group = tempfile::tempdir().unwrap();
        let file = group.path().join("memory.stat");
        fs::write(&file, "pswpout 100\n").unwrap();
        let mut writes = Writes::of(Some((group.path(), Version::V2)), &held(0));
        fs::write(&file, "pswpout 130\n").unwrap();
        writes.step(50, [written(0), written(50)], [&held(0), &held(50)]);
        assert_eq!(writes.since(&held(50)), Bytes::of_pages(30));
        let first = Writes::of(Some((group.path(), Version::V1)), &held(0));
        assert_eq!(first.source(), WriteSource::Steps);
    }
}

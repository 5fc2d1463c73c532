//! The fewest flash writes with which any policy could serve a trace.
//!
//! At any moment each route of the table lies in a valid row of flash or of shadow, for it could
//! not be looked up otherwise. Take the routes (prefix and port) that a prefix length has at moment
//! t and that were not in the table when it was loaded: those of them that lie in flash were
//! written to it since, at least once. All others lie in shadow. A length has one shadow block of C
//! rows that takes its updates; further ones are there for the time of a flush only, and what they
//! hold is being written. So by t at least `new(t) - C` entries have been written, and over the
//! trace at least the maximum of that over t; lengths have their own rows and add up.
//!
//! The bound is no policy: it may know the future, and leaves out that what is to be written first
//! must be known first. Nor does it count entries that were new twice, at different times.

use rustc_hash::FxHashMap;

use crate::length::Length;
use crate::prefix::Prefix;
use crate::route::Port;

/// Counts routes that flash did not have at the start.
#[derive(Clone, Debug)]
pub struct Bound {
    /// Rows of a shadow block.
    rows: u64,
    /// The port at the start of each prefix that has changed; `None` if it was not in the table.
    first: FxHashMap<Prefix, Option<Port>>,
    /// New routes that a length has, and the most that it had at one time.
    lengths: Vec<(u64, u64)>,
}

impl Bound {
    /// Starts with shadow blocks of these rows.
    pub fn new(rows: u32) -> Self {
        Self {
            rows: rows.into(),
            first: FxHashMap::default(),
            lengths: vec![(0, 0); Length::COUNT],
        }
    }

    /// Notes that the port of a prefix has changed; `None`: not in the table.
    pub fn change(&mut self, prefix: Prefix, before: Option<Port>, after: Option<Port>) {
        if before == after {
            return;
        }
        let first = *self.first.entry(prefix).or_insert(before);
        let is_new = |port: Option<Port>| u64::from(port.is_some() && port != first);
        let (now, most) = &mut self.lengths[Length::of(prefix).index()];
        *now = *now + is_new(after) - is_new(before);
        *most = (*most).max(*now);
    }

    /// Returns the fewest entries of a length that had to be written to flash.
    pub fn of(&self, length: Length) -> u64 {
        self.lengths[length.index()].1.saturating_sub(self.rows)
    }

    /// Returns the fewest entries that had to be written to flash.
    pub fn entries(&self) -> u64 {
        Length::all().map(|length| self.of(length)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_into_shadow_at_one_time_must_be_written() {
        let mut bound = Bound::new(2);
        let prefix = |index: u32| format!("10.{index}.0.0/16").parse().unwrap();
        let (one, two) = (Some(Port(1)), Some(Port(2)));
        bound.change(prefix(0), one, two);
        bound.change(prefix(0), two, one);
        for index in 1..4 {
            bound.change(prefix(index), None, one);
        }
        assert_eq!(
            bound.entries(),
            1,
            "three new ones, and the first is as it was"
        );
        bound.change(prefix(1), one, None);
        bound.change(prefix(0), one, two);
        assert_eq!(bound.entries(), 1, "there are three again");
        bound.change(prefix(1), None, two);
        assert_eq!(bound.entries(), 2);
    }
}

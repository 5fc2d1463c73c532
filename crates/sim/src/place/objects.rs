//! Which object has an address, at a row of the trace.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace_trace::allocation::{Allocations, Object};

/// The living objects of a trace that is read row by row. An object is named by its place in
/// [`Allocations::objects`].
#[derive(Debug)]
pub struct Objects {
    allocations: Arc<Allocations>,
    /// The object that begins next.
    begins: usize,
    /// Objects that end, by the row before which they do.
    ends: BTreeMap<u64, Vec<usize>>,
    /// By process and first address.
    living: BTreeMap<(u16, u64), usize>,
    /// The object that was found last.
    last: Option<usize>,
    /// The row of the next beginning or end.
    next: u64,
}

impl Objects {
    /// Begins before the first row.
    pub fn new(allocations: Arc<Allocations>) -> Self {
        let mut objects = Self {
            allocations,
            begins: 0,
            ends: BTreeMap::new(),
            living: BTreeMap::new(),
            last: None,
            next: 0,
        };
        objects.look_ahead();
        objects
    }

    /// Returns the object that has this address at a row, which is not before the rows asked for so
    /// far.
    #[inline]
    pub fn at(&mut self, row: u64, process: u16, address: u64) -> Option<usize> {
        while row >= self.next && self.next < u64::MAX {
            self.advance();
        }
        let objects = &self.allocations.objects;
        let has = |object: &usize| has(&objects[*object], process, address);
        if self.last.as_ref().is_some_and(has) {
            return self.last;
        }
        let (_, object) = self.living.range(..=(process, address)).next_back()?;
        let found = Some(*object).filter(has);
        self.last = found.or(self.last);
        found
    }

    /// Begins and ends objects of the next row with any.
    fn advance(&mut self) {
        let row = self.next;
        let objects = &self.allocations.objects;
        for ended in self.ends.remove(&row).unwrap_or_default() {
            let key = (objects[ended].process, objects[ended].address);
            // Another may have begun there.
            if self.living.get(&key) == Some(&ended) {
                self.living.remove(&key);
            }
        }
        while let Some(object) = objects
            .get(self.begins)
            .filter(|object| object.began <= row)
        {
            let begun = self.begins;
            self.begins += 1;
            if object.ended.is_some_and(|ended| ended <= row) {
                continue;
            }
            if let Some(ended) = object.ended {
                self.ends.entry(ended).or_default().push(begun);
            }
            self.living.insert((object.process, object.address), begun);
        }
        self.last = None;
        self.look_ahead();
    }

    fn look_ahead(&mut self) {
        let begins = self.allocations.objects.get(self.begins);
        let begins = begins.map(|object| object.began);
        let ends = self.ends.first_key_value().map(|(row, _)| *row);
        self.next = begins.into_iter().chain(ends).min().unwrap_or(u64::MAX);
    }
}

/// Whether an object has an address.
fn has(object: &Object, process: u16, address: u64) -> bool {
    object.process == process && address.wrapping_sub(object.address) < object.bytes
}

/// Returns the most bytes that objects of each site have at a time, and the most that all have.
pub fn peaks(allocations: &Allocations) -> (Vec<u64>, u64) {
    let mut changes: Vec<(u64, bool, usize, u64)> = Vec::new();
    for object in &allocations.objects {
        let site = object.site as usize;
        changes.push((object.began, true, site, object.bytes));
        if let Some(ended) = object.ended {
            changes.push((ended, false, site, object.bytes));
        }
    }
    // What ends before a row makes room for what begins there.
    changes.sort_by_key(|(row, begins, ..)| (*row, *begins));
    let sites = allocations.sites.len();
    let (mut now, mut peaks) = (vec![0_i128; sites], vec![0_i128; sites]);
    let (mut all, mut peak) = (0_i128, 0_i128);
    for (_, begins, site, bytes) in changes {
        let change = if begins {
            i128::from(bytes)
        } else {
            -i128::from(bytes)
        };
        now[site] += change;
        all += change;
        peaks[site] = peaks[site].max(now[site]);
        peak = peak.max(all);
    }
    let bytes = |amount: i128| u64::try_from(amount).unwrap_or(u64::MAX);
    (peaks.into_iter().map(bytes).collect(), bytes(peak))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use terrace_trace::allocation::Site;

    fn allocations(objects: Vec<Object>) -> Allocations {
        Allocations {
            sites: vec![Site::default(); 3],
            objects,
        }
    }

    fn objects() -> impl Strategy<Value = Vec<Object>> {
        let one = (
            0..4_u64,
            prop::option::of(0..9_u64),
            0..2_u16,
            0..3_u32,
            0..8_u64,
        );
        prop::collection::vec(one, 0..12).prop_map(|all| {
            let mut began = 0;
            let object =
                |(step, length, process, site, slot): (u64, Option<u64>, u16, u32, u64)| {
                    began += step;
                    let ended = length.map(|length| began + length);
                    Object {
                        began,
                        ended,
                        process,
                        site,
                        address: 100 * slot,
                        bytes: 60,
                    }
                };
            let mut objects: Vec<Object> = all.into_iter().map(object).collect();
            // Where the next one begins, the one before it has ended.
            for index in 0..objects.len() {
                let place = |object: &Object| (object.process, object.address);
                let (one, later) = objects[index..].split_first_mut().expect("an object");
                let next = later
                    .iter()
                    .find(|other| place(other) == place(one))
                    .map(|next| next.began);
                one.ended = one.ended.into_iter().chain(next).min();
            }
            objects
        })
    }

    proptest! {
        /// The youngest object that lives and has the address, found by looking at all.
        #[test]
        fn an_address_is_that_of_the_object_that_lives_there(
            objects in objects(), asks in prop::collection::vec((0..3_u64, 0..2_u16, 0..800_u64), 0..40),
        ) {
            let allocations = allocations(objects);
            let allocations = Arc::new(allocations);
            let mut living = Objects::new(allocations.clone());
            let mut row = 0;
            for (step, process, address) in asks {
                row += step;
                let slow = allocations.objects.iter().rposition(|object| {
                    object.began <= row
                        && object.ended.is_none_or(|ended| ended > row)
                        && has(object, process, address)
                });
                prop_assert_eq!(living.at(row, process, address), slow);
            }
        }

        #[test]
        fn the_peak_is_that_of_some_row(objects in objects()) {
            let allocations = allocations(objects);
            let (peaks, peak) = peaks(&allocations);
            let at = |row: u64, site: Option<u32>| {
                let living = allocations.objects.iter().filter(|object| {
                    site.is_none_or(|site| object.site == site)
                        && object.began <= row
                        && object.ended.is_none_or(|ended| ended > row)
                });
                living.map(|object| object.bytes).sum::<u64>()
            };
            let highest = |site| (0..200).map(|row| at(row, site)).max().unwrap();
            for site in 0..3 {
                prop_assert!(peaks[site as usize] >= highest(Some(site)));
            }
            prop_assert!(peak >= highest(None));
        }
    }
}

//! State of one thread: its faults, its strides, and their records.

use super::record::Record;
use super::{DENSE, STEPS, WIDE};
use crate::page::{Fault, Location, Memory, PAGE_BYTES, Page, Residence, Space};
use crate::prefetch::Outcome;

/// State of one thread.
pub(super) struct ThreadState {
    pub(super) space: Space,
    /// Pages of the latest faults, newest last.
    recent: Vec<u64>,
    /// Pages of the latest faults that belonged to no stream, newest last, in an array of their own
    /// so that several are compared at a time.
    stray_pages: Vec<u64>,
    /// Byte addresses of the same faults.
    stray_addresses: Vec<u64>,
    /// Record of everything fetched for the thread.
    record: Record,
    /// Record of the fetches for each stride, the latest used stride first.
    strides: Vec<(i64, Record)>,
}

/// Strides remembered for a thread.
const STRIDES: usize = 8;

impl ThreadState {
    pub(super) fn new(space: Space) -> Self {
        Self {
            space,
            recent: Vec::new(),
            stray_pages: Vec::new(),
            stray_addresses: Vec::new(),
            record: Record::UNKNOWN,
            strides: Vec::new(),
        }
    }

    /// Records a fault in this address space; keeps the latest `most`.
    pub(super) fn note(&mut self, fault: &Fault, most: usize) {
        push_bounded(&mut self.recent, fault.at.page.0, most);
    }

    /// Records a fault that belongs to no stream.
    pub(super) fn note_stray(&mut self, fault: &Fault, most: usize) {
        push_bounded(&mut self.stray_pages, fault.at.page.0, most);
        push_bounded(&mut self.stray_addresses, fault.address(), most);
    }

    /// Returns the direction, 1 or -1, of a thread that touches page after page.
    pub(super) fn dense_direction(&self, fault: &Fault, memory: &mut dyn Memory) -> Option<i64> {
        let (below, above) = self.faults_beside(fault.at.page);
        [(1, below), (-1, above)]
            .into_iter()
            .find_map(|(direction, faults)| {
                let behind = |k: u64| fault.at.page.0.checked_add_signed(-direction * k as i64);
                let place = |k| behind(k).map(|page| Location::new(fault.at.space, Page(page)));
                let mut touched =
                    |k| place(k).is_some_and(|at| memory.residence(at) == Residence::InMemory);
                (faults >= 2 && (1..=DENSE).all(&mut touched)).then_some(direction)
            })
    }

    /// Returns the numbers of faulted pages right below this one and right above it.
    fn faults_beside(&self, Page(page): Page) -> (u32, u32) {
        // One bit a page, from the lowest on, so that nothing branches on which faults are near.
        let mut pages = 0u64;
        for earlier in &self.recent {
            let place = earlier.wrapping_sub(page).wrapping_add(DENSE);
            pages |= u64::from(place <= 2 * DENSE) << (place % 64);
        }
        let below = pages & ((1 << DENSE) - 1);
        let above = pages >> (DENSE + 1);
        (below.count_ones(), above.count_ones())
    }

    /// Returns a stride that has served this thread, if this fault and an earlier one are some of
    /// its steps apart, and the number of these steps. A walk over the next column of a matrix
    /// faults only on rows whose page the last column did not touch, so it cannot show its stride
    /// by itself.
    pub(super) fn stride_again(&self, fault: &Fault) -> Option<(i64, u64)> {
        self.proven().find_map(|stride| {
            self.stray_addresses.iter().find_map(|stray| {
                let distance = fault.address().wrapping_sub(*stray) as i64;
                // Most distances are too large, which is decided without a division.
                let apart = distance.unsigned_abs() / STEPS <= stride.unsigned_abs()
                    && distance % stride == 0
                    && (1..=STEPS as i64).contains(&(distance / stride));
                apart.then(|| (stride, (distance / stride) as u64))
            })
        })
    }

    /// Returns the stride of this fault and two earlier ones, and the number of steps from the
    /// first of them to this one.
    pub(super) fn stride_anew(&self, fault: &Fault) -> Option<(i64, u64)> {
        let distance = self.stride_to(fault)?;
        let stride = self.reduce(distance);
        Some((stride, 2 * (distance / stride) as u64))
    }

    /// Replaces a multiple of a stride that has served this thread by the stride itself.
    pub(super) fn reduce(&self, stride: i64) -> i64 {
        let whole = |&proven: &i64| stride % proven == 0 && stride.signum() == proven.signum();
        self.proven().find(whole).unwrap_or(stride)
    }

    /// Returns the wide strides that have served this thread.
    fn proven(&self) -> impl Iterator<Item = i64> {
        self.strides
            .iter()
            .filter(|(stride, record)| record.is_proven() && stride.unsigned_abs() >= WIDE)
            .map(|(stride, _)| *stride)
    }

    /// Returns the record of a stride, or that of the thread if the former is short.
    pub(super) fn record_of(&self, stride: i64) -> Record {
        let own = self.strides.iter().find(|(s, _)| *s == stride);
        own.map(|(_, record)| *record)
            .filter(|record| record.is_telling())
            .unwrap_or(self.record)
    }

    /// Records the outcome of a page that was fetched for `stride`.
    pub(super) fn count(&mut self, stride: i64, outcome: Outcome) {
        self.record.count(outcome);
        let place = self.strides.iter().position(|(s, _)| *s == stride);
        let mut entry = match place {
            Some(place) => self.strides.remove(place),
            None => (stride, Record::UNKNOWN),
        };
        entry.1.count(outcome);
        self.strides.truncate(STRIDES - 1);
        self.strides.insert(0, entry);
    }

    /// Returns the distance in bytes at which this fault and two earlier ones lie, preferring the
    /// most recent pair: exact in bytes if possible, otherwise in pages.
    pub(super) fn stride_to(&self, fault: &Fault) -> Option<i64> {
        let in_bytes = regular(&self.stray_addresses, fault.address());
        let in_pages = || regular(&self.stray_pages, fault.at.page.0);
        in_bytes
            .filter(|stride| stride.unsigned_abs() >= PAGE_BYTES)
            .or_else(|| in_pages()?.checked_mul(PAGE_BYTES as i64))
    }
}

/// Returns the distance at which `here` and two of `known` lie.
fn regular(known: &[u64], here: u64) -> Option<i64> {
    known.iter().enumerate().rev().find_map(|(i, &before)| {
        let distance = here.wrapping_sub(before) as i64;
        let earlier = (before as i64).checked_sub(distance)? as u64;
        (distance != 0 && known[..i].contains(&earlier)).then_some(distance)
    })
}

fn push_bounded(numbers: &mut Vec<u64>, number: u64, most: usize) {
    if numbers.len() == most {
        numbers.remove(0);
    }
    numbers.push(number);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::page::Thread;

    const HISTORY: usize = 12;
    const SPACE: Space = Space(1);

    /// All faults there have been, looked at one by one. Strays are every second one.
    struct Slow(Vec<Fault>);

    impl Slow {
        fn recent(&self) -> &[Fault] {
            &self.0[self.0.len().saturating_sub(HISTORY)..]
        }

        fn strays(&self) -> Vec<Fault> {
            let strays: Vec<Fault> = self.0.iter().step_by(2).copied().collect();
            strays[strays.len().saturating_sub(HISTORY)..].to_vec()
        }

        fn dense_direction(&self, fault: &Fault) -> Option<i64> {
            let here = fault.at.page.0 as i64;
            [1, -1].into_iter().find(|direction| {
                let behind: Vec<i64> = (1..=DENSE as i64).map(|k| here - direction * k).collect();
                let faults = self.recent().iter().map(|fault| fault.at.page.0 as i64);
                let near: BTreeSet<i64> = faults.filter(|page| behind.contains(page)).collect();
                near.len() >= 2
                    && behind
                        .iter()
                        .all(|page| *page >= 0 && is_in_memory(*page as u64))
            })
        }

        fn stride_again(&self, fault: &Fault, proven: &[i64]) -> Option<i64> {
            let here = fault.address() as i64;
            let leads_here = |stray: &Fault, stride: i64| {
                (1..=STEPS as i64).any(|step| stray.address() as i64 + step * stride == here)
            };
            let serves = |stride: &&i64| self.strays().iter().any(|s| leads_here(s, **stride));
            proven.iter().find(serves).copied()
        }

        fn stride_to(&self, fault: &Fault) -> Option<i64> {
            let in_bytes = self.regular(fault, |f| f.address() as i64);
            let in_pages = self.regular(fault, |f| f.at.page.0 as i64);
            match in_bytes {
                Some(stride) if stride.unsigned_abs() >= PAGE_BYTES => Some(stride),
                _ => in_pages.map(|stride| stride * PAGE_BYTES as i64),
            }
        }

        fn regular(&self, fault: &Fault, place: impl Fn(&Fault) -> i64) -> Option<i64> {
            let strays: Vec<i64> = self.strays().iter().map(&place).collect();
            for before in (0..strays.len()).rev() {
                let distance = place(fault) - strays[before];
                for earlier in 0..before {
                    if distance != 0 && strays[before] - strays[earlier] == distance {
                        return Some(distance);
                    }
                }
            }
            None
        }
    }

    fn is_in_memory(page: u64) -> bool {
        page % 40 > 4
    }

    struct Pages;

    impl Memory for Pages {
        fn residence(&mut self, at: Location) -> Residence {
            match is_in_memory(at.page.0) {
                true => Residence::InMemory,
                false => Residence::InTier,
            }
        }
    }

    /// Addresses among which distances come again: dense, or some way apart.
    fn faults() -> impl Strategy<Value = Vec<Fault>> {
        let address = prop_oneof![
            3 => (0..120u64, 0..PAGE_BYTES).prop_map(|(page, offset)| page * PAGE_BYTES + offset),
            2 => (0..300u64).prop_map(|k| k * 1000),
            3 => (0..40u64, 0..2u64).prop_map(|(k, start)| start * 999 + k * 10 * PAGE_BYTES),
            1 => 0..1u64 << 46,
        ];
        let fault = address.prop_map(|address| Fault::new(Thread(1), SPACE, address));
        proptest::collection::vec(fault, 1..80)
    }

    proptest! {
        #[test]
        fn as_fault_by_fault(
            faults in faults(),
            strides in proptest::collection::btree_set(-4..5i64, 0..4),
        ) {
            let mut fast = ThreadState::new(SPACE);
            let mut slow = Slow(Vec::new());
            let mut proven = Vec::new();
            for stride in strides.into_iter().filter(|stride| *stride != 0) {
                let stride = stride * 10 * PAGE_BYTES as i64;
                (0..40).for_each(|_| fast.count(stride, Outcome::Used));
                proven.insert(0, stride);
            }
            for (index, fault) in faults.iter().enumerate() {
                let direction = fast.dense_direction(fault, &mut Pages);
                prop_assert_eq!(direction, slow.dense_direction(fault));
                let again = fast.stride_again(fault);
                prop_assert_eq!(again.map(|(stride, _)| stride), slow.stride_again(fault, &proven));
                prop_assert_eq!(fast.stride_to(fault), slow.stride_to(fault));
                fast.note(fault, HISTORY);
                if index % 2 == 0 {
                    fast.note_stray(fault, HISTORY);
                }
                slow.0.push(*fault);
            }
        }
    }
}

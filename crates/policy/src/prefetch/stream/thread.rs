//! What is known of one thread: its faults, its strides, and how well they served.

use std::collections::VecDeque;

use super::record::Record;
use super::{DENSE, STEPS, WIDE};
use crate::page::{Fault, Location, Memory, PAGE_BYTES, Page, Residence, Space};
use crate::prefetch::Outcome;
use crate::prefetch::sketch::Sketch;

/// What is known of one thread.
pub(super) struct ThreadState {
    pub(super) space: Space,
    /// Its latest faults, newest last.
    recent: VecDeque<Fault>,
    /// Its latest faults that belonged to no stream, newest last.
    strays: VecDeque<Fault>,
    /// What became of all that was fetched for it.
    record: Record,
    /// What became of what was fetched for each stride, the latest used first.
    strides: Vec<(i64, Record)>,
}

/// Strides remembered a thread.
const STRIDES: usize = 8;
impl ThreadState {
    pub(super) fn new(space: Space) -> Self {
        Self {
            space,
            recent: VecDeque::new(),
            strays: VecDeque::new(),
            record: Record::UNKNOWN,
            strides: Vec::new(),
        }
    }

    /// Notes a fault; keeps the latest `most`.
    pub(super) fn note(&mut self, fault: Fault, most: usize) {
        push_bounded(&mut self.recent, fault, most);
    }

    /// Notes a fault that belongs to no stream.
    pub(super) fn note_stray(&mut self, fault: Fault, most: usize) {
        push_bounded(&mut self.strays, fault, most);
    }

    /// Which way the thread goes if it touches page after page: 1 or -1.
    pub(super) fn dense_direction(&self, fault: &Fault, memory: &mut dyn Memory) -> Option<i64> {
        [1, -1].into_iter().find(|direction| {
            let behind = |k: u64| fault.at.page.0.checked_add_signed(-direction * k as i64);
            let place = |k| behind(k).map(|page| Location::new(fault.at.space, Page(page)));
            self.faults_behind(fault, *direction) >= 2
                && (1..=DENSE)
                    .all(|k| place(k).is_some_and(|at| memory.residence(at) == Residence::InMemory))
        })
    }

    /// On how many of the last pages on the way to this fault the thread has faulted.
    fn faults_behind(&self, fault: &Fault, direction: i64) -> u32 {
        let mut pages = 0u32;
        for earlier in &self.recent {
            let back = fault.at.page.distance_from(earlier.at.page);
            let back = back.wrapping_mul(direction);
            if earlier.at.space == fault.at.space && (1..=DENSE as i64).contains(&back) {
                pages |= 1 << back;
            }
        }
        pages.count_ones()
    }

    /// A stride that has served this thread, if this fault and an earlier one lie some of its
    /// steps apart. A walk over the next column of a matrix faults only on rows whose page the
    /// last one did not touch, so it cannot show its stride by itself.
    pub(super) fn stride_again(&self, fault: &Fault) -> Option<i64> {
        self.proven().find(|&stride| {
            self.strays.iter().any(|stray| {
                let distance = fault.address().wrapping_sub(stray.address()) as i64;
                stray.at.space == fault.at.space
                    && distance % stride == 0
                    && (1..=STEPS as i64).contains(&(distance / stride))
            })
        })
    }

    /// A multiple of a stride that has served this thread is taken for the stride itself.
    pub(super) fn reduce(&self, stride: i64) -> i64 {
        let whole = |&proven: &i64| stride % proven == 0 && stride.signum() == proven.signum();
        self.proven().find(whole).unwrap_or(stride)
    }

    /// The wide strides that have served this thread.
    fn proven(&self) -> impl Iterator<Item = i64> {
        self.strides
            .iter()
            .filter(|(stride, record)| record.is_proven() && stride.unsigned_abs() >= WIDE)
            .map(|(stride, _)| *stride)
    }

    /// The record of a stride; where it is short, that of the thread.
    pub(super) fn record_of(&self, stride: i64) -> Record {
        let own = self.strides.iter().find(|(s, _)| *s == stride);
        own.map(|(_, record)| *record)
            .filter(|record| record.is_telling())
            .unwrap_or(self.record)
    }

    /// Books what became of a page that was fetched for `stride`.
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

    /// The distance in bytes at which this fault and two earlier ones lie, the most recent
    /// such pair first. Exact in bytes if it can be, else in pages.
    pub(super) fn stride_to(&self, fault: &Fault) -> Option<i64> {
        let in_bytes = self.regular(|f| f.address() as i64, fault);
        let in_pages = || self.regular(|f| f.at.page.0 as i64, fault);
        in_bytes
            .filter(|stride| stride.unsigned_abs() >= PAGE_BYTES)
            .or_else(|| in_pages()?.checked_mul(PAGE_BYTES as i64))
    }

    fn regular(&self, coordinate: impl Fn(&Fault) -> i64, fault: &Fault) -> Option<i64> {
        let here = coordinate(fault);
        let kin = |stray: &&Fault| stray.at.space == fault.at.space;
        let known: Vec<i64> = self.strays.iter().filter(kin).map(&coordinate).collect();
        let mut sketch = Sketch::default();
        known.iter().for_each(|known| sketch.add(*known as u64));
        known.iter().enumerate().rev().find_map(|(i, &before)| {
            let distance = here.wrapping_sub(before);
            let earlier = before.checked_sub(distance)?;
            let is_known = sketch.may_have(earlier as u64) && known[..i].contains(&earlier);
            (distance != 0 && is_known).then_some(distance)
        })
    }
}

fn push_bounded(faults: &mut VecDeque<Fault>, fault: Fault, most: usize) {
    faults.push_back(fault);
    if faults.len() > most {
        faults.pop_front();
    }
}

//! Runs in DRAM: a chunk of slots of one size, or a large object, which is a run of one slot.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A run.
pub(crate) struct Run {
    pub first: u64,
    slot: u64,
    /// Whether it is one large object of whole chunks.
    pub large: bool,
    /// Whether it is capacity. Then its records are not in the pool, and only tell that a slot is
    /// in use.
    pub capacity: bool,
    /// For each slot, the offset of the record of its object; 0 if there is none.
    records: Box<[AtomicU64]>,
    /// A bit for each slot, 1 if it is neither in use nor in a lane's cache. Changed under the lock
    /// of the class, or by recovery.
    free: Box<[AtomicU64]>,
    /// Whether it is in the class's list of runs with free slots.
    pub listed: AtomicBool,
    /// Whether it is being emptied: its free slots are not used. Changed while all lanes are held.
    pub emptying: AtomicBool,
}

impl Run {
    /// Returns a run of slots that are all free.
    pub fn of_slots(first: u64, slot: u64, chunk_bytes: u64) -> Self {
        Self::new(first, slot, chunk_bytes / slot, false)
    }

    /// Returns a large object.
    pub fn large(first: u64, bytes: u64) -> Self {
        Self::new(first, bytes, 1, true)
    }

    fn new(first: u64, slot: u64, slots: u64, large: bool) -> Self {
        let word = |i: u64| match slots - i * 64 {
            left @ 0..64 => AtomicU64::new((1 << left) - 1),
            _ => AtomicU64::new(u64::MAX),
        };
        Self {
            first,
            slot,
            large,
            capacity: false,
            records: (0..slots).map(|_| AtomicU64::new(0)).collect(),
            free: (0..slots.div_ceil(64)).map(word).collect(),
            listed: AtomicBool::new(false),
            emptying: AtomicBool::new(false),
        }
    }

    /// Returns how many slots are in use.
    pub fn records(&self) -> usize {
        let in_use = |&slot: &usize| self.record(slot) != 0;
        (0..self.slots()).filter(in_use).count()
    }

    pub fn slot_bytes(&self) -> u64 {
        self.slot
    }

    /// Returns the slot in which all of these bytes lie.
    pub fn slot_with(&self, offset: u64, len: u64) -> Option<usize> {
        let within = offset.checked_sub(self.first)?;
        let slot = within / self.slot;
        let fits = within - slot * self.slot + len <= self.slot;
        (fits && slot < self.records.len() as u64).then_some(slot as usize)
    }

    /// Returns the slot that begins at an offset.
    #[inline]
    pub fn slot_at(&self, offset: u64) -> Option<usize> {
        let within = offset.checked_sub(self.first)?;
        if within == 0 {
            return Some(0);
        }
        if self.large {
            return None;
        }
        // Offsets within a run of several slots fit 32 bits, whose division is faster.
        let (within, slot) = (u32::try_from(within).ok()?, self.slot as u32);
        let number = (within / slot) as usize;
        (number * slot as usize == within as usize && number < self.records.len()).then_some(number)
    }

    pub fn offset_of(&self, slot: usize) -> u64 {
        self.first + slot as u64 * self.slot
    }

    pub fn slots(&self) -> usize {
        self.records.len()
    }

    #[inline]
    pub fn record(&self, slot: usize) -> u64 {
        self.records[slot].load(Ordering::Acquire)
    }

    #[inline]
    pub fn set_record(&self, slot: usize, record: u64) {
        self.records[slot].store(record, Ordering::Release);
    }

    /// Claims a slot for the record of its object; fails with the other record's offset if the slot
    /// was claimed already. Two threads that claim a slot at the same moment may both succeed:
    /// [`Run::take_claimed`] then finds fewer slots than were claimed. A locked instruction for
    /// each object would cost more than all else that opening does with it.
    #[inline]
    pub fn claim(&self, slot: usize, record: u64) -> Result<(), u64> {
        match self.record(slot) {
            0 => {
                self.set_record(slot, record);
                Ok(())
            }
            said => Err(said),
        }
    }

    /// Takes the slots that were claimed, where none was taken before; returns their number.
    pub fn take_claimed(&self) -> u64 {
        let words = self.records.chunks(64).zip(&self.free);
        let taken = words.map(|(records, free)| {
            let claimed = |(i, record): (usize, &AtomicU64)| {
                u64::from(record.load(Ordering::Relaxed) != 0) << i
            };
            let claimed = records.iter().enumerate().map(claimed).sum::<u64>();
            free.fetch_and(!claimed, Ordering::AcqRel);
            u64::from(claimed.count_ones())
        });
        taken.sum()
    }

    /// Forgets all claims and takes.
    pub fn forget_claims(&self) {
        for slot in 0..self.slots() {
            self.set_record(slot, 0);
            self.give(slot);
        }
    }

    /// Takes one slot; returns whether it was free.
    pub fn take(&self, slot: usize) -> bool {
        let bit = 1 << (slot % 64);
        self.free[slot / 64].fetch_and(!bit, Ordering::AcqRel) & bit != 0
    }

    /// Gives one slot back.
    pub fn give(&self, slot: usize) {
        self.free[slot / 64].fetch_or(1 << (slot % 64), Ordering::AcqRel);
    }

    /// Takes the first free slots, at most `limit`, and pushes their offsets.
    pub fn take_some(&self, limit: usize, into: &mut Vec<u64>) {
        let mut left = limit;
        for (i, word) in self.free.iter().enumerate() {
            let mut free = word.load(Ordering::Relaxed);
            while free != 0 && left > 0 {
                into.push(self.offset_of(i * 64 + free.trailing_zeros() as usize));
                free &= free - 1;
                left -= 1;
            }
            word.store(free, Ordering::Relaxed);
            if left == 0 {
                return;
            }
        }
    }

    /// Returns whether a slot is free.
    #[cfg(any(test, feature = "experiments"))]
    pub fn is_free(&self, slot: usize) -> bool {
        self.free[slot / 64].load(Ordering::Relaxed) >> (slot % 64) & 1 != 0
    }

    pub fn free_slots(&self) -> usize {
        let ones = |word: &AtomicU64| word.load(Ordering::Relaxed).count_ones() as usize;
        self.free.iter().map(ones).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slot_is_taken_once() {
        let run = Run::of_slots(65536, 144, 65536);
        assert_eq!((run.slots(), run.free_slots()), (455, 455));
        let mut taken = Vec::new();
        run.take_some(100, &mut taken);
        run.take_some(1000, &mut taken);
        let all: Vec<u64> = (0..455).map(|i| 65536 + i * 144).collect();
        assert_eq!(taken, all);
        run.give(454);
        assert!(run.take(454) && !run.take(454));
    }

    #[test]
    fn what_is_claimed_is_taken_and_forgotten() {
        let run = Run::of_slots(65536, 144, 65536);
        let claimed = [0, 63, 64, 200, 454];
        for slot in claimed {
            assert_eq!(run.claim(slot, 32 + slot as u64), Ok(()));
        }
        assert_eq!(run.claim(64, 7), Err(96));
        assert_eq!(run.take_claimed(), 5);
        for slot in 0..455 {
            assert_eq!(run.is_free(slot), !claimed.contains(&slot), "{slot}");
        }
        run.forget_claims();
        assert_eq!((run.free_slots(), run.take_claimed()), (455, 0));
    }

    #[test]
    fn only_beginnings_of_slots_are_slots() {
        let run = Run::of_slots(4096, 48, 4096);
        assert_eq!(run.slot_at(4096 + 96), Some(2));
        assert_eq!(run.slot_at(4096 + 100), None);
        assert_eq!(run.slot_at(4000), None);
        assert_eq!(run.slot_at(4096 + 85 * 48), None);
    }
}

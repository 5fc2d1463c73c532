//! The secondary queue of hints that wait while demand requests do.
//!
//! The queue is bounded, and cancelling is free: an entry holds no memory and no slot of the
//! device's queue until it is issued. The newest hint goes first (Fedorov 2016, section 5.4.3), or
//! the oldest for comparison.

use std::collections::VecDeque;

/// A bounded queue of hints, oldest at its front.
#[derive(Debug)]
pub struct SecondaryQueue<T> {
    entries: VecDeque<T>,
    capacity: usize,
}

impl<T> SecondaryQueue<T> {
    /// Makes an empty queue of at most `capacity` entries.
    ///
    /// # Panics
    /// If `capacity` is 0.
    pub fn new(capacity: usize) -> Self {
        assert!(capacity > 0, "a secondary queue needs room for one entry");
        Self {
            entries: VecDeque::with_capacity(capacity),
            capacity,
        }
    }

    /// Adds a group of hints, best first, so that its best is issued next; entries on top of the
    /// queue that satisfy `kin`, an earlier part of the same stream, stay ahead of it. Returns the
    /// entries that had no room: the oldest, or the worst of the group itself.
    pub fn push_newest(&mut self, mut group: Vec<T>, kin: impl Fn(&T) -> bool) -> Vec<T> {
        let mut wiped = group.split_off(group.len().min(self.capacity));
        let excess = (self.entries.len() + group.len()).saturating_sub(self.capacity);
        wiped.extend(self.entries.drain(..excess));
        let waiting = self.entries.iter().rev().take_while(|t| kin(t)).count();
        let earlier = self.entries.split_off(self.entries.len() - waiting);
        self.entries.extend(group.into_iter().rev());
        self.entries.extend(earlier);
        wiped
    }

    /// Adds a group of hints behind all others, best first. Returns the hints that had no room.
    pub fn push_behind(&mut self, mut group: Vec<T>) -> Vec<T> {
        let room = self.capacity - self.entries.len();
        let wiped = group.split_off(group.len().min(room));
        self.entries.extend(group);
        wiped
    }

    /// Removes and returns the newest hint that satisfies `can`.
    pub fn pop_newest(&mut self, can: impl FnMut(&T) -> bool) -> Option<T> {
        let index = self.entries.iter().rposition(can)?;
        self.entries.remove(index)
    }

    /// Removes and returns the oldest hint that satisfies `can`.
    pub fn pop_oldest(&mut self, can: impl FnMut(&T) -> bool) -> Option<T> {
        let index = self.entries.iter().position(can)?;
        self.entries.remove(index)
    }

    /// Cancels every hint that satisfies `doomed`; returns their number.
    pub fn cancel(&mut self, mut doomed: impl FnMut(&T) -> bool) -> usize {
        let before = self.entries.len();
        self.entries.retain(|entry| !doomed(entry));
        before - self.entries.len()
    }

    /// Returns as large a share of `number` as of the queue is free, rounded up: all of it if the
    /// queue is empty, nothing if it is full.
    pub fn free_share_of(&self, number: usize) -> usize {
        let free = self.capacity - self.entries.len();
        (number * free).div_ceil(self.capacity)
    }

    /// Number of waiting hints.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no hint waits.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_group_first_and_best_of_it_first() {
        let mut queue = SecondaryQueue::new(8);
        queue.push_newest(vec!["a1", "a2"], |_| false);
        queue.push_newest(vec!["b1", "b2"], |_| false);
        let order: Vec<_> = std::iter::from_fn(|| queue.pop_newest(|_| true)).collect();
        assert_eq!(order, ["b1", "b2", "a1", "a2"]);
    }

    #[test]
    fn a_stream_keeps_its_order() {
        let mut queue = SecondaryQueue::new(8);
        let of = |stream: char| move |hint: &&str| hint.starts_with(stream);
        queue.push_newest(vec!["a1", "a2"], of('a'));
        queue.push_newest(vec!["b1", "b2"], of('b'));
        queue.push_newest(vec!["b3"], of('b'));
        let order: Vec<_> = std::iter::from_fn(|| queue.pop_newest(|_| true)).collect();
        assert_eq!(order, ["b1", "b2", "b3", "a1", "a2"]);
    }

    #[test]
    fn a_full_queue_drops_its_oldest() {
        let mut queue = SecondaryQueue::new(3);
        queue.push_newest(vec![1, 2], |_| false);
        assert_eq!(queue.push_newest(vec![3, 4], |_| false), [2]);
        let order: Vec<_> = std::iter::from_fn(|| queue.pop_newest(|_| true)).collect();
        assert_eq!(order, [3, 4, 1]);
    }

    #[test]
    fn a_group_larger_than_the_queue_keeps_its_best() {
        let mut queue = SecondaryQueue::new(2);
        queue.push_newest(vec![0], |_| false);
        assert_eq!(queue.push_newest(vec![1, 2, 3], |_| false), [3, 0]);
        assert_eq!(queue.len(), 2);
        assert_eq!(queue.pop_newest(|_| true), Some(1));
    }

    #[test]
    fn first_in_first_out_keeps_what_it_has() {
        let mut queue = SecondaryQueue::new(3);
        assert!(queue.push_behind(vec![1, 2]).is_empty());
        assert_eq!(queue.push_behind(vec![3, 4]), [4]);
        let order: Vec<_> = std::iter::from_fn(|| queue.pop_oldest(|_| true)).collect();
        assert_eq!(order, [1, 2, 3]);
    }

    #[test]
    fn what_cannot_go_stays() {
        let mut queue = SecondaryQueue::new(4);
        queue.push_behind(vec![1, 2, 3, 4]);
        assert_eq!(queue.pop_newest(|n| n % 2 == 1), Some(3));
        assert_eq!(queue.pop_oldest(|n| n % 2 == 0), Some(2));
        assert_eq!(queue.pop_oldest(|n| *n > 4), None);
        assert_eq!(queue.len(), 2);
    }

    #[test]
    fn the_fuller_the_queue_the_smaller_the_share() {
        let mut queue = SecondaryQueue::new(5);
        let mut shares = vec![queue.free_share_of(8)];
        for hint in 0..5 {
            queue.push_newest(vec![hint], |_| false);
            shares.push(queue.free_share_of(8));
        }
        // 8, 6.4, 4.8, 3.2, 1.6 and 0.
        assert_eq!(shares, [8, 7, 5, 4, 2, 0]);
    }

    #[test]
    fn cancelling_is_counted() {
        let mut queue = SecondaryQueue::new(8);
        queue.push_newest(vec![1, 2, 3, 4], |_| false);
        assert_eq!(queue.cancel(|n| n % 2 == 0), 2);
        assert_eq!(queue.len(), 2);
    }
}

//! The secondary queue: hints that wait until no demand request does.
//!
//! Newest first, bounded, and free to cancel: an entry holds no memory and no slot of the
//! device's queue until it is issued (Fedorov 2016, section 5.4.3).

use std::collections::VecDeque;

/// A bounded last-in-first-out queue that drops its oldest entries when full.
#[derive(Debug)]
pub struct SecondaryQueue<T> {
    entries: VecDeque<T>,
    capacity: usize,
}

impl<T> SecondaryQueue<T> {
    /// An empty queue of at most `capacity` entries.
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

    /// Adds one group of hints, best first, so that its best is the next to be issued; but what
    /// `kin` names on top of the queue, an earlier part of the same stream, stays before it.
    /// Returns the entries that had no room: the oldest, or the worst of the group itself.
    pub fn push_group(&mut self, mut group: Vec<T>, kin: impl Fn(&T) -> bool) -> Vec<T> {
        let mut wiped = group.split_off(group.len().min(self.capacity));
        let excess = (self.entries.len() + group.len()).saturating_sub(self.capacity);
        wiped.extend(self.entries.drain(..excess));
        let waiting = self.entries.iter().rev().take_while(|t| kin(t)).count();
        let earlier = self.entries.split_off(self.entries.len() - waiting);
        self.entries.extend(group.into_iter().rev());
        self.entries.extend(earlier);
        wiped
    }

    /// Takes the newest hint.
    pub fn pop(&mut self) -> Option<T> {
        self.entries.pop_back()
    }

    /// Cancels every hint that `doomed` names; returns how many those were.
    pub fn cancel(&mut self, mut doomed: impl FnMut(&T) -> bool) -> usize {
        let before = self.entries.len();
        self.entries.retain(|entry| !doomed(entry));
        before - self.entries.len()
    }

    /// Hints that wait.
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
        queue.push_group(vec!["a1", "a2"], |_| false);
        queue.push_group(vec!["b1", "b2"], |_| false);
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(order, ["b1", "b2", "a1", "a2"]);
    }

    #[test]
    fn a_stream_keeps_its_order() {
        let mut queue = SecondaryQueue::new(8);
        let of = |stream: char| move |hint: &&str| hint.starts_with(stream);
        queue.push_group(vec!["a1", "a2"], of('a'));
        queue.push_group(vec!["b1", "b2"], of('b'));
        queue.push_group(vec!["b3"], of('b'));
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(order, ["b1", "b2", "b3", "a1", "a2"]);
    }

    #[test]
    fn a_full_queue_drops_its_oldest() {
        let mut queue = SecondaryQueue::new(3);
        queue.push_group(vec![1, 2], |_| false);
        assert_eq!(queue.push_group(vec![3, 4], |_| false), [2]);
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(order, [3, 4, 1]);
    }

    #[test]
    fn a_group_larger_than_the_queue_keeps_its_best() {
        let mut queue = SecondaryQueue::new(2);
        queue.push_group(vec![0], |_| false);
        assert_eq!(queue.push_group(vec![1, 2, 3], |_| false), [3, 0]);
        assert_eq!(queue.len(), 2);
        assert_eq!(queue.pop(), Some(1));
    }

    #[test]
    fn cancelling_is_counted() {
        let mut queue = SecondaryQueue::new(8);
        queue.push_group(vec![1, 2, 3, 4], |_| false);
        assert_eq!(queue.cancel(|n| n % 2 == 0), 2);
        assert_eq!(queue.len(), 2);
    }
}

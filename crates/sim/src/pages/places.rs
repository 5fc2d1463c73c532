//! Which place of a device of the tier a page gets.
//!
//! A memory gives the place that was freed last. A swap area gives places as Linux 6.18 does
//! (mm/swapfile.c, `cluster_alloc_swap_entry` and `alloc_swap_scan_cluster`): the next free one of
//! the current cluster; behind its end, the first free one of the cluster that has waited longest
//! since a place of it was freed; of an empty cluster, where none waits. So what leaves together
//! lies together, which readahead by places depends on. The kernel takes clusters that were never
//! used before those that became empty, as far as the area reaches, whose size is not known here.

use std::collections::VecDeque;

/// Places of a cluster (`SWAPFILE_CLUSTER` of 64 bits).
const CLUSTER: u32 = 512;

/// The places of a device.
#[derive(Clone)]
pub(super) enum Places {
    /// Those of a memory.
    Memory(Stack),
    /// Those of a swap area.
    Area(Area),
}

impl Places {
    /// Returns the places of an unused device, of a swap area or another.
    pub(super) fn new(of_area: bool) -> Self {
        match of_area {
            true => Self::Area(Area::default()),
            false => Self::Memory(Stack::default()),
        }
    }

    /// Returns a free place, which is taken then.
    pub(super) fn take(&mut self) -> u32 {
        match self {
            Self::Memory(stack) => stack.take(),
            Self::Area(area) => area.take(),
        }
    }

    /// Frees a place.
    pub(super) fn free(&mut self, place: u32) {
        match self {
            Self::Memory(stack) => stack.free.push(place),
            Self::Area(area) => area.free(place),
        }
    }

    /// Returns the number of places that were ever in use; they are the first of the device.
    pub(super) fn used(&self) -> u32 {
        match self {
            Self::Memory(stack) => stack.used,
            Self::Area(area) => area.used,
        }
    }
}

/// Places of which the one that was freed last is taken first.
#[derive(Clone, Default)]
pub(super) struct Stack {
    used: u32,
    free: Vec<u32>,
}

impl Stack {
    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.used += 1;
            self.used - 1
        })
    }
}

/// Places in clusters.
#[derive(Clone, Default)]
pub(super) struct Area {
    used: u32,
    /// Whether each place is taken, of all clusters that were ever the current one.
    taken: Vec<bool>,
    /// Taken places of each of these clusters.
    counts: Vec<u32>,
    /// Where the search goes on in the current cluster.
    next: Option<u32>,
    /// Clusters of which a place was freed, and none taken since; the first has waited longest.
    partial: VecDeque<u32>,
    /// Clusters that became empty.
    empty: VecDeque<u32>,
    /// Whether each cluster is in one of both lists.
    listed: Vec<bool>,
}

impl Area {
    fn take(&mut self) -> u32 {
        loop {
            let begin = match self.next {
                Some(next) if self.counts[(next / CLUSTER) as usize] == 0 => {
                    next / CLUSTER * CLUSTER
                }
                Some(next) => next,
                None => self.begin_cluster(),
            };
            let cluster = begin / CLUSTER;
            let mut places = begin..(cluster + 1) * CLUSTER;
            let Some(place) = places.find(|place| !self.taken[*place as usize]) else {
                self.next = None;
                continue;
            };
            self.taken[place as usize] = true;
            self.counts[cluster as usize] += 1;
            self.leave_lists(cluster);
            let goes_on = !places.is_empty() && self.counts[cluster as usize] < CLUSTER;
            self.next = goes_on.then_some(place + 1);
            self.used = self.used.max(place + 1);
            return place;
        }
    }

    fn free(&mut self, place: u32) {
        let cluster = place / CLUSTER;
        self.taken[place as usize] = false;
        self.counts[cluster as usize] -= 1;
        if self.counts[cluster as usize] == 0 {
            self.leave_lists(cluster);
            self.empty.push_back(cluster);
        } else if !self.listed[cluster as usize] {
            self.partial.push_back(cluster);
        }
        self.listed[cluster as usize] = true;
    }

    /// Returns the first place of the cluster in which places are taken next.
    fn begin_cluster(&mut self) -> u32 {
        let listed = self.partial.pop_front().or_else(|| self.empty.pop_front());
        let cluster = listed.unwrap_or_else(|| {
            self.counts.push(0);
            self.listed.push(false);
            self.taken
                .resize(self.counts.len() * CLUSTER as usize, false);
            self.counts.len() as u32 - 1
        });
        self.listed[cluster as usize] = false;
        cluster * CLUSTER
    }

    fn leave_lists(&mut self, cluster: u32) {
        if !std::mem::take(&mut self.listed[cluster as usize]) {
            return;
        }
        for list in [&mut self.partial, &mut self.empty] {
            list.retain(|listed| *listed != cluster);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(places: &mut Places, count: usize) -> Vec<u32> {
        (0..count).map(|_| places.take()).collect()
    }

    #[test]
    fn a_memory_gives_what_was_freed_last() {
        let mut places = Places::new(false);
        assert_eq!(take(&mut places, 4), [0, 1, 2, 3]);
        places.free(0);
        places.free(2);
        assert_eq!(take(&mut places, 3), [2, 0, 4]);
        assert_eq!(places.used(), 5);
    }

    #[test]
    fn a_swap_area_goes_on_and_comes_back_to_the_cluster_that_waits_longest() {
        let mut places = Places::new(true);
        take(&mut places, 1025);
        for place in [600, 7, 1024, 3, 601] {
            places.free(place);
        }
        // Cluster 2 is the current one, and became empty: it begins anew.
        assert_eq!(take(&mut places, 512), (1024..1536).collect::<Vec<_>>());
        places.free(1100);
        assert_eq!(take(&mut places, 2), [600, 601]);
        assert_eq!(take(&mut places, 3), [3, 7, 1100]);
        assert_eq!(take(&mut places, 2), [1536, 1537]);
        assert_eq!(places.used(), 1538);
    }

    #[test]
    fn an_empty_cluster_is_taken_before_an_unused_one() {
        let mut places = Places::new(true);
        take(&mut places, 1024);
        (0..512).for_each(|place| places.free(place));
        assert_eq!(places.take(), 0);
        assert_eq!(places.used(), 1024);
    }
}

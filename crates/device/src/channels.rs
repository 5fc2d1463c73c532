//! The channels of a memory on the bus, between which its pages are interleaved.
//!
//! What is read or written of a page goes over the channel behind which the page lies, and occupies
//! it for as long as its bytes take; what comes meanwhile waits. So no more is drawn from a memory
//! than its bandwidth. Reads and writes take the same time, and turning a channel takes none.
//!
//! Transfers may be asked for in any order of time: a thread that moves many pages is ahead of the
//! others, and they use what it leaves free. So the caller says which times are over
//! ([`Channels::forget`]).

use std::collections::BTreeMap;

/// Bytes of a line.
const LINE: u128 = 64;
/// Picoseconds of a second.
const SECOND: u128 = 1_000_000_000_000;
/// The longest time of a line in picoseconds, 1000 s, so that virtual time cannot overflow.
const LONGEST: u128 = 1000 * SECOND;

/// The channels of a memory; times are in picoseconds.
#[derive(Clone, Debug)]
pub struct Channels {
    channels: Vec<Channel>,
    /// The time of a line.
    line: u64,
    /// Lines that were transferred.
    lines: u64,
}

/// When a transfer begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The time at which its channel is free.
    pub begin: u64,
    /// The time at which its bytes are over.
    pub end: u64,
}

impl Channels {
    /// Returns idle channels, at least one, that transfer `bandwidth` bytes a second together; 0
    /// counts as 1.
    pub fn new(bandwidth: u64, number: u64) -> Self {
        let number = number.max(1);
        let line = (LINE * SECOND * u128::from(number)).div_ceil(u128::from(bandwidth.max(1)));
        Self {
            channels: vec![Channel::default(); number as usize],
            line: line.min(LONGEST) as u64,
            lines: 0,
        }
    }

    /// Transfers lines of a page as soon after `earliest` as its channel is free.
    pub fn transfer(&mut self, page: u64, lines: u64, earliest: u64) -> Transfer {
        self.lines += lines;
        let time = self.line.saturating_mul(lines);
        let channel = interleaved(page, self.channels.len() as u64);
        self.channels[channel as usize].transfer(earliest, time)
    }

    /// Returns how long a channel is occupied by a line.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Returns how many times without a gap are known at which channels are occupied.
    pub fn known(&self) -> usize {
        self.channels.iter().map(|one| one.busy.len()).sum()
    }

    /// Forgets what is over before a moment, to which no transfer comes any more.
    pub fn forget(&mut self, moment: u64) {
        self.channels
            .iter_mut()
            .for_each(|channel| channel.forget(moment));
    }

    /// Returns the bytes that were transferred.
    pub fn bytes(&self) -> u64 {
        self.lines * LINE as u64
    }
}

/// A channel.
#[derive(Clone, Debug, Default)]
struct Channel {
    /// When it is occupied without a gap: the ends by the beginnings.
    busy: BTreeMap<u64, u64>,
    /// Before this nothing is known any more, and nothing begins.
    floor: u64,
}

impl Channel {
    fn transfer(&mut self, earliest: u64, time: u64) -> Transfer {
        let mut begin = earliest.max(self.floor);
        let before = self.busy.range(..=begin).next_back();
        let mut joins = before.map(|(&start, &end)| (start, end));
        begin = joins.map_or(begin, |(_, end)| end.max(begin));
        for (&start, &end) in self.busy.range(begin..) {
            if begin.saturating_add(time) <= start {
                break;
            }
            joins = Some((start, end));
            begin = end;
        }
        let end = begin.saturating_add(time);
        let first = joins
            .filter(|(_, end)| *end == begin)
            .map_or(begin, |(start, _)| start);
        let last = self.busy.remove(&end).unwrap_or(end);
        self.busy.insert(first, last);
        Transfer { begin, end }
    }

    fn forget(&mut self, moment: u64) {
        while let Some(first) = self.busy.first_entry()
            && *first.get() <= moment
        {
            self.floor = first.remove();
        }
    }
}

/// Returns behind which of `among` parts a page or a row lies: a hash of its number, so that those
/// at regular distances are rarely in one part (Zhang et al., MICRO 2000).
#[inline]
pub fn interleaved(number: u64, among: u64) -> u64 {
    (number ^ number >> 4 ^ number >> 8 ^ number >> 12) % among
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The twin looks at each moment by itself.
        #[test]
        fn a_transfer_takes_the_first_gap_that_is_long_enough(
            asked in prop::collection::vec((0..300_u64, 1..9_u64, 0..4_u64), 1..120),
        ) {
            let (mut channel, mut busy, mut over) = (Channel::default(), vec![false; 2000], 0);
            for (earliest, time, forgets) in asked {
                if forgets == 0 {
                    over = over.max(earliest / 2);
                    channel.forget(over);
                }
                let earliest = earliest.max(over);
                let is_free = |begin: u64| !busy[begin as usize..][..time as usize].contains(&true);
                let begin = (earliest..).find(|begin| is_free(*begin)).unwrap();
                let end = begin + time;
                prop_assert_eq!(channel.transfer(earliest, time), Transfer { begin, end });
                busy[begin as usize..end as usize].fill(true);
                let runs = busy.chunk_by(|one, other| one == other);
                let runs = runs.filter(|run| run[0]).count();
                prop_assert!(channel.busy.len() <= runs);
            }
        }
    }

    #[test]
    fn lines_take_what_a_channel_gives() {
        // 64 bytes at 6.6 GB/s take 9.69 ns.
        let mut one = Channels::new(6_600_000_000, 1);
        let first = one.transfer(0, 1, 1000);
        assert_eq!((first.begin, first.end), (1000, 1000 + 9697));
        let page = one.transfer(7, 64, 1000);
        assert_eq!((page.begin, page.end), (10_697, 10_697 + 64 * 9697));
        assert_eq!(one.bytes(), 65 * 64);
    }

    #[test]
    fn channels_do_not_wait_for_each_other() {
        // Each transfers 1 GB/s.
        let mut four = Channels::new(4_000_000_000, 4);
        for page in [0, 1, 2, 3] {
            assert_eq!(four.transfer(page, 1, 0).end, 64_000, "{page}");
        }
        assert_eq!(four.transfer(4, 1, 0).begin, 64_000, "as page 0");
        let mut channels: Vec<u64> = (0..4).map(|page| interleaved(4096 * page, 4)).collect();
        channels.sort_unstable();
        assert_eq!(channels, [0, 1, 2, 3], "at a regular distance");
    }

    #[test]
    fn the_slowest_memory_ends_no_time() {
        let mut slow = Channels::new(0, u64::from(u16::MAX));
        assert_eq!(slow.transfer(0, 1, 0).end, 1_000_000_000_000_000);
        assert_eq!(slow.transfer(0, 64, u64::MAX - 1).end, u64::MAX);
    }
}

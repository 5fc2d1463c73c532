//! Rows that are followed by what they changed in their pages.

use super::{NO_UNIT, Origin, Stream};
use crate::level::pieces;
use crate::observed::LONGEST;
use crate::page::{BYTES, LINE, SHIFT};
use crate::record::{Kind, Record};

/// One run in so many is sampled; a prime, so that loops do not step in time with it.
const SAMPLED: u32 = 61;
/// Records of a row: a mark, and the access.
const ROW: usize = 2;

impl Stream<'_> {
    /// Records a run of accesses to one page as a row, which a report follows when the run ends.
    #[inline(always)]
    pub fn observe(&mut self, address: u64, kind: Kind, origin: Origin) {
        pieces(address, kind.bytes(), SHIFT, |address, bytes| {
            let unit = address >> SHIFT;
            if unit != self.unit {
                self.end_run();
                // A row and its report lie in one chunk, so the reader needs no other to know what
                // is whole.
                if self.chunk.room() < ROW + LONGEST {
                    self.publish();
                }
                self.keep(address, Kind::new(bytes, kind.write()), origin);
                self.unit = unit;
                self.written = kind.write();
                self.stored = 0;
            } else if kind.write() && !self.written {
                self.chunk.change_last(Record::stored);
                self.written = true;
            }
            if kind.write() {
                self.stored |= lines(address, bytes);
            }
        });
    }

    /// Ends the run, and reports its page if reports are asked for. A row that found no chunk has
    /// no report: what its run changed is reported with the next row of the page.
    pub fn end_run(&mut self) {
        let Some(observed) = self.observed else {
            return;
        };
        if self.unit == NO_UNIT {
            return;
        }
        let page = std::mem::replace(&mut self.unit, NO_UNIT);
        if self.chunk.room() < LONGEST {
            observed.note_change();
            return;
        }
        let is_sampled = self.until_sample == 0;
        self.until_sample = match is_sampled {
            true => SAMPLED - 1,
            false => self.until_sample - 1,
        };
        if !observed.report(page, self.stored, is_sampled, self.chunk) {
            self.pool.note_unreported();
        }
    }
}

/// The lines of a page in which some bytes from an address on lie, a bit each.
#[inline(always)]
fn lines(address: u64, bytes: u32) -> u64 {
    let line = |address: u64| address % BYTES as u64 / LINE as u64;
    let (first, last) = (line(address), line(address + u64::from(bytes.max(1)) - 1));
    (u64::MAX << first) & (u64::MAX >> (63 - last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observed::Observed;
    use crate::page::checksum;
    use crate::pool::{Pool, RecordSettings};
    use crate::record::Said;
    use proptest::prelude::*;
    use std::collections::HashMap;

    const PAGES: usize = 3;

    /// Memory that is recorded: pages of this process, as the base is 0 outside of QEMU.
    #[repr(C, align(4096))]
    struct Recorded([[u8; BYTES]; PAGES]);

    /// A store, or a load, of a byte: its place, and what is stored there.
    type Touch = (usize, Option<u8>);
    /// A step of a program: a change of a byte by other means than a store, and then a run of
    /// touches of a page.
    type Step = (Option<(usize, usize, u8)>, usize, Vec<Touch>);

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let other = prop::option::weighted(0.2, (0..PAGES, 0..BYTES, any::<u8>()));
        let touch = (0..BYTES, prop::option::of(any::<u8>()));
        let step = (other, 0..PAGES, prop::collection::vec(touch, 1..15));
        prop::collection::vec(step, 1..200)
    }

    /// What the reports of all chunks make of the pages, and how many checksums there were.
    fn replayed(pool: &Pool) -> (HashMap<u64, [u8; BYTES]>, usize) {
        let mut pages: HashMap<u64, [u8; BYTES]> = HashMap::new();
        let mut versions: HashMap<u64, u32> = HashMap::new();
        let (mut row, mut sampled) = (None, 0);
        for index in pool.ready() {
            for record in pool.chunk(index).records() {
                match record.said() {
                    Said::Instruction(_)
                    | Said::Discard { .. }
                    | Said::Frame(_)
                    | Said::Allocated { .. }
                    | Said::Freed { .. }
                    | Said::Order(_)
                    | Said::Depends(_) => {}
                    Said::Access { address, .. } => row = Some(address >> SHIFT),
                    Said::Word { address, value } => {
                        assert_eq!(row, Some(address >> SHIFT));
                        let page = pages.entry(address >> SHIFT).or_insert([0; BYTES]);
                        page[address as usize % BYTES..][..8].copy_from_slice(&value.to_le_bytes());
                    }
                    Said::Reported {
                        version,
                        checksum: sum,
                    } => {
                        let page = row.take().expect("a report follows its row");
                        let last = versions.entry(page).or_default();
                        *last += 1;
                        assert_eq!(version, *last);
                        if sum != 0 {
                            sampled += 1;
                            assert_eq!(checksum(pages.entry(page).or_insert([0; BYTES])), sum);
                        }
                    }
                }
            }
        }
        (pages, sampled)
    }

    /// What the reports of a page make of it, whichever thread made them, in the order of their
    /// versions.
    fn in_order_of_versions(pool: &Pool, page: u64) -> [u8; BYTES] {
        let mut reports = Vec::new();
        for index in pool.ready() {
            let mut words = Vec::new();
            for record in pool.chunk(index).records() {
                match record.said() {
                    Said::Access { address, .. } if address >> SHIFT == page => words.clear(),
                    Said::Word { address, value } if address >> SHIFT == page => {
                        words.push((address, value))
                    }
                    Said::Reported { version, checksum } if !words.is_empty() || checksum != 0 => {
                        reports.push((version, std::mem::take(&mut words)));
                    }
                    _ => {}
                }
            }
        }
        reports.sort_by_key(|(version, _)| *version);
        let mut held = [0; BYTES];
        for (address, value) in reports.into_iter().flat_map(|(_, words)| words) {
            held[address as usize % BYTES..][..8].copy_from_slice(&value.to_le_bytes());
        }
        held
    }

    proptest! {
        #[test]
        fn reports_make_the_pages_as_they_were_touched_last(
            steps in steps(), far in 0..40_usize, is_shared: bool,
        ) {
            let settings = RecordSettings { level: crate::level::Level::Pages, contents: true, ..Default::default() };
            let pool = Pool::create(settings).unwrap();
            let observed = Observed::new().unwrap();
            if is_shared {
                observed.share();
            }
            let mut stream = Stream::new(&pool, 0, Some(&observed), None);
            let mut memory = Box::new(Recorded([[0; BYTES]; PAGES]));
            let first = (&raw const *memory) as u64;
            let mut touched = [[0; BYTES]; PAGES];
            for (step, (other, page, touches)) in steps.into_iter().enumerate() {
                if let Some((page, place, value)) = other {
                    memory.0[page][place] = value;
                    if !is_shared {
                        observed.note_change();
                    }
                }
                let instruction = if step == far { 1 << 40 } else { step as u64 };
                let origin = Origin { ip: 0, instruction };
                for (place, value) in touches {
                    value.into_iter().for_each(|value| memory.0[page][place] = value);
                    let address = first + (page * BYTES + place) as u64;
                    stream.observe(address, Kind::new(1, value.is_some()), origin);
                }
                stream.end_run();
                touched[page] = memory.0[page];
            }
            stream.publish();
            let (pages, sampled) = replayed(&pool);
            for (number, page) in (first >> SHIFT..).zip(&touched) {
                prop_assert_eq!(pages.get(&number).unwrap_or(&[0; BYTES]), page);
            }
            prop_assert!(sampled > 0);
        }

        /// Threads whose runs overlap in time, and a system call that stores while others go on:
        /// when all runs have ended, the reports make the pages as they are.
        #[test]
        fn reports_of_several_threads_make_the_pages(
            steps in prop::collection::vec(
                (0..3_usize, 0..PAGES, prop::option::weighted(0.8, (0..64_usize, any::<u8>())), prop::option::weighted(0.1, 0..BYTES)),
                1..300,
            ),
        ) {
            let settings = RecordSettings { level: crate::level::Level::Pages, contents: true, ..Default::default() };
            let pool = Pool::create(settings).unwrap();
            let observed = Observed::new().unwrap();
            let mut streams = [0, 1, 2].map(|_| Stream::new(&pool, 0, Some(&observed), None));
            let mut memory = Box::new(Recorded([[0; BYTES]; PAGES]));
            let first = (&raw const *memory) as u64;
            for (step, (thread, page, store, call)) in steps.into_iter().enumerate() {
                let origin = Origin { ip: 0, instruction: step as u64 };
                // A few bytes in each of a few lines, so that threads store to the same ones.
                let place = store.map_or(0, |(place, _)| place / 8 * 64 + place % 8);
                if let Some((_, value)) = store {
                    memory.0[page][place] = value;
                }
                let address = first + (page * BYTES + place) as u64;
                streams[thread].observe(address, Kind::new(1, store.is_some()), origin);
                if let Some(place) = call {
                    let other = (thread + 1) % 3;
                    streams[thread].end_run();
                    observed.note_change();
                    streams[other].observe(first + (page * BYTES) as u64, Kind::new(1, false), origin);
                    streams[other].end_run();
                    memory.0[page][place] = !memory.0[page][place];
                    observed.note_change();
                    streams[thread].observe(first + (page * BYTES) as u64, Kind::new(1, false), origin);
                }
            }
            streams.iter_mut().for_each(Stream::publish);
            for (number, page) in (first >> SHIFT..).zip(&memory.0) {
                prop_assert_eq!(&in_order_of_versions(&pool, number), page);
            }
        }

        #[test]
        fn lines_are_those_of_each_byte(address in 0..BYTES as u64, bytes in 1..300_u32) {
            let end = (address + u64::from(bytes)).min(BYTES as u64);
            let slow = (address..end).fold(0, |lines, byte| lines | 1_u64 << (byte / 64));
            prop_assert_eq!(lines(address, (end - address) as u32), slow);
        }
    }

    /// Pages that change as a whole fill chunk after chunk; no report is cut.
    #[test]
    fn a_row_and_its_report_lie_in_one_chunk() {
        let settings = RecordSettings {
            level: crate::level::Level::Pages,
            contents: true,
            ..RecordSettings::default()
        };
        let pool = Pool::create(settings).unwrap();
        let observed = Observed::new().unwrap();
        let mut stream = Stream::new(&pool, 0, Some(&observed), None);
        let mut memory = Box::new(Recorded([[0; BYTES]; PAGES]));
        let first = (&raw const *memory) as u64;
        for round in 1..=200_u64 {
            let page = round as usize % PAGES;
            memory.0[page].fill(round as u8);
            observed.note_change();
            let instruction = round;
            let address = first + (page * BYTES) as u64;
            stream.observe(address, Kind::new(8, true), Origin { ip: 0, instruction });
        }
        stream.publish();
        assert!(pool.ready().len() > 5);
        let (pages, _) = replayed(&pool);
        for (number, page) in (first >> SHIFT..).zip(&memory.0) {
            assert_eq!(&pages[&number], page);
        }
    }
}

//! Requests of PostMark, a benchmark of file systems with many files: Katcher, "PostMark: a new
//! file system benchmark", NetApp TR3022, 1997.
//!
//! A process creates a pool of files, and then transacts: each transaction reads a whole file or
//! appends to one, and creates a file or deletes one, whichever the dice say. Files are drawn
//! evenly. At the end it deletes all files. Processes of a series do so one after the other.
//!
//! A file lies in a slot of its own, and its successor overwrites it there, as a file system gives
//! freed blocks to new files; a deletion asks for nothing, and gives the pages back. There are
//! twice as many slots as files at the beginning, as in the program, which skips a creation when
//! all are taken. Requests are of 128 KiB at most, the kernel's readahead. An append begins where
//! the file ends.
//!
//! Koob 2010 ("Synthetic Benchmark") has 10,000 files of 400,000 to 800,000 bytes, 50,000
//! transactions, and reads and creations favoured, by how much is not said: 16064M of footprint,
//! and the defaults here.

use terrace_base::bytes::PAGE_BYTES;
use terrace_base::{Bytes, Error, Result};

use super::kernel::{KernelSettings, MAX_BUILT, generated, zeroed};
use super::log::{Heap, Log};
use super::random::Random;
use crate::files::{self, Files};
use crate::source::Source;

/// Bytes of a request at most.
const REQUEST: u64 = 128 << 10;

/// Whole files of a pool are read, and files appended to, created and deleted: PostMark
///
/// Half as many files as fit into the footprint are created first: 800000 bytes and 16064M make
/// 10,000 files. Each transaction then reads a file or appends to one, and creates a file or
/// deletes one. Addresses are places on a disk, for `terrace sim files`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct Postmark {
    /// The smallest new file
    #[cfg_attr(feature = "clap", arg(long, value_name = "SIZE", default_value = "400000", value_parser = Bytes::parse, allow_hyphen_values = true))]
    pub least: Bytes,
    /// The largest file
    #[cfg_attr(feature = "clap", arg(long, value_name = "SIZE", default_value = "800000", value_parser = Bytes::parse, allow_hyphen_values = true))]
    pub most: Bytes,
    /// Transactions of each process
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", default_value = "50000", value_parser = terrace_base::count::parse_count, allow_hyphen_values = true))]
    pub transactions: u64,
    /// Processes, one after the other
    #[cfg_attr(feature = "clap", arg(long, hide_short_help = true, value_name = "N", default_value_t = 1, value_parser = terrace_base::count::whole(1..=1_000_000_u64)))]
    pub processes: u64,
    /// How many of a hundred transactions read; the others append
    #[cfg_attr(feature = "clap", arg(long, hide_short_help = true, value_name = "PERCENT", default_value_t = 80, value_parser = terrace_base::count::whole(0..=100_u8)))]
    pub reads: u8,
    /// How many of a hundred transactions create; the others delete
    #[cfg_attr(feature = "clap", arg(long, hide_short_help = true, value_name = "PERCENT", default_value_t = 60, value_parser = terrace_base::count::whole(0..=100_u8)))]
    pub creations: u8,
}

impl Postmark {
    /// Returns the trace.
    ///
    /// # Errors
    /// Returns a usage error if the smallest file is larger than the largest or empty, or if the
    /// footprint does not hold two files or is absurdly large.
    pub fn source(&self, settings: &KernelSettings) -> Result<Box<dyn Source>> {
        if self.least.0 == 0 || self.least > self.most {
            return Err(Error::usage(format!(
                "files from {} to {} are none; give ‘least’ and ‘most’ as 400000 and 800000",
                self.least, self.most
            )));
        }
        let slot = self.most.0.next_multiple_of(PAGE_BYTES);
        settings.check(2 * slot, MAX_BUILT)?;
        let mut pool = Pool::new(*self, settings)?;
        let options = [
            ("least", self.least.0.to_string()),
            ("most", self.most.0.to_string()),
            ("transactions", self.transactions.to_string()),
            ("processes", self.processes.to_string()),
            ("reads-percent", self.reads.to_string()),
            ("creations-percent", self.creations.to_string()),
            (files::KEY, pool.files().to_string()),
        ];
        let step = move |log: &mut Log| pool.step(log);
        Ok(generated("postmark", settings, &options, step))
    }
}

/// The files of a process.
struct Pool {
    kind: Postmark,
    random: Random,
    /// Address of the first slot, and bytes from one to the next.
    slots: u64,
    slot: u64,
    /// Size of the file in each slot.
    sizes: Vec<u64>,
    /// Slots with files, and those without.
    used: Vec<u32>,
    free: Vec<u32>,
    /// Files to be created before transactions begin.
    missing: usize,
    /// Transactions left, and processes left with this one.
    transactions: u64,
    processes: u64,
}

impl Pool {
    fn new(kind: Postmark, settings: &KernelSettings) -> Result<Self> {
        let slot = kind.most.0.next_multiple_of(PAGE_BYTES);
        let count = settings.footprint.0 / slot;
        let mut pool = Self {
            kind,
            random: Random::new(settings.seed),
            slots: Heap::new().array(count * slot),
            slot,
            sizes: zeroed(count)?,
            used: Vec::new(),
            free: Vec::new(),
            missing: 0,
            transactions: 0,
            processes: kind.processes,
        };
        pool.begin();
        Ok(pool)
    }

    /// Returns where the slots lie.
    fn files(&self) -> Files {
        Files {
            first: self.slots,
            room: self.slot,
        }
    }

    /// Begins a process: all slots are free.
    fn begin(&mut self) {
        let count = self.sizes.len();
        self.used.clear();
        // The first is taken first.
        self.free = (0..count as u32).rev().collect();
        self.missing = count / 2;
        self.transactions = self.kind.transactions;
    }

    /// Logs the next file or transaction; returns false at the end.
    fn step(&mut self, log: &mut Log) -> bool {
        if self.missing > 0 {
            self.missing -= 1;
            self.create(log);
        } else if self.transactions > 0 {
            self.transactions -= 1;
            self.transact(log);
        } else if self.processes > 1 {
            self.processes -= 1;
            log.give_back(self.slots, self.sizes.len() as u64 * self.slot / PAGE_BYTES);
            self.begin();
        } else {
            return false;
        }
        true
    }

    fn transact(&mut self, log: &mut Log) {
        if let Some(slot) = self.draw() {
            match self.random.percent(self.kind.reads) {
                true => self.read(log, slot),
                false => self.append(log, slot),
            }
        }
        match self.random.percent(self.kind.creations) {
            true => self.create(log),
            false => self.delete(log),
        }
    }

    /// Draws a file.
    fn draw(&mut self) -> Option<u32> {
        let files = self.used.len() as u64;
        (files > 0).then(|| self.used[self.random.below(files) as usize])
    }

    fn read(&mut self, log: &mut Log, slot: u32) {
        let (begin, size) = (self.address(slot), self.sizes[slot as usize]);
        for (at, bytes) in requests(begin, size) {
            log.work(bytes / 8);
            log.load(0, at, bytes);
        }
    }

    /// Appends up to the size of the largest file.
    fn append(&mut self, log: &mut Log, slot: u32) {
        let size = self.sizes[slot as usize];
        let room = self.kind.most.0 - size;
        if room > 0 {
            let bytes = 1 + self.random.below(room);
            self.write(log, 1, self.address(slot) + size, bytes);
            self.sizes[slot as usize] += bytes;
        }
    }

    fn create(&mut self, log: &mut Log) {
        let Some(slot) = self.free.pop() else { return };
        let Postmark { least, most, .. } = self.kind;
        let bytes = least.0 + self.random.below(most.0 - least.0 + 1);
        self.write(log, 2, self.address(slot), bytes);
        self.sizes[slot as usize] = bytes;
        self.used.push(slot);
    }

    fn delete(&mut self, log: &mut Log) {
        let files = self.used.len() as u64;
        if files > 0 {
            let slot = self.used.swap_remove(self.random.below(files) as usize);
            log.give_back(self.address(slot), self.slot / PAGE_BYTES);
            self.free.push(slot);
        }
    }

    fn write(&self, log: &mut Log, site: u64, begin: u64, bytes: u64) {
        for (at, bytes) in requests(begin, bytes) {
            log.work(bytes / 8);
            log.store(site, at, bytes);
        }
    }

    fn address(&self, slot: u32) -> u64 {
        self.slots + u64::from(slot) * self.slot
    }
}

/// Returns the requests for bytes that follow each other: address and size of each.
fn requests(begin: u64, bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    let end = begin + bytes;
    let starts = (begin..end).step_by(REQUEST as usize);
    starts.map(move |at| (at, (end - at).min(REQUEST)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{HEAP, settings, touches};
    use super::*;

    /// 200 slots of 300 KiB.
    const SLOT: u64 = 300 << 10;

    fn postmark(transactions: u64, processes: u64) -> Postmark {
        Postmark {
            least: Bytes(150_000),
            most: Bytes(300_000),
            transactions,
            processes,
            reads: 80,
            creations: 60,
        }
    }

    #[test]
    fn a_pool_is_created_and_then_read() {
        let slot = 300_000_u64.next_multiple_of(4096);
        assert!(slot <= SLOT);
        let source = postmark(5000, 1).source(&settings(u64::MAX, 200 * slot, 1));
        let all = touches(source.unwrap());
        let slot_of = |at: u64| (at - HEAP) / slot;
        let first_read = all.iter().position(|(.., write)| !write).unwrap();
        let created: std::collections::BTreeSet<u64> = all[..first_read]
            .iter()
            .map(|(at, ..)| slot_of(*at))
            .collect();
        assert!((100..110).contains(&created.len()), "{}", created.len());
        // A file is read from its beginning to its end, which lies behind the last byte that was
        // written.
        let mut sizes = vec![0; 200];
        let (mut reads, mut writes) = (0, 0);
        for (at, size, write) in all {
            let (slot_number, offset) = (slot_of(at), (at - HEAP) % slot);
            let end = offset + u64::from(size);
            assert!(end <= 300_000 && size <= REQUEST as u32);
            let known = &mut sizes[slot_number as usize];
            match write {
                true if offset == 0 => *known = end,
                true => {
                    assert_eq!(offset, *known, "appended, or the next part of the same");
                    *known = end;
                }
                false => assert!(end <= *known, "a file is read as far as it is written"),
            }
            match write {
                true => writes += u64::from(size),
                false => reads += u64::from(size),
            }
        }
        // 4000 reads of 225 KB on average, or a little more for what was appended.
        assert!((850_000_000..1_100_000_000).contains(&reads), "{reads}");
        // Each second creation of 3000 finds a slot before the pool is full, and 1000 appends.
        assert!(writes < reads, "{writes}");
    }

    /// A slot is written from its beginning if its file was given back, and only then.
    #[test]
    fn what_is_deleted_is_given_back() {
        let mut source = postmark(3000, 2)
            .source(&settings(u64::MAX, 200 * SLOT, 1))
            .unwrap();
        let files = Files::of(source.meta()).unwrap().unwrap();
        let slot_of = |at: u64| (at - files.first) / files.room;
        let mut block = crate::access::Block::default();
        let (mut used, mut given_back) = (vec![false; 210], 0);
        while source.next_block(&mut block).unwrap() {
            let mut discards = block.discards.iter().peekable();
            for (row, (at, write)) in (0..).zip(block.address.iter().zip(&block.write)) {
                while let Some(discard) = discards.next_if(|one| one.row == row) {
                    let slots =
                        slot_of(discard.page * PAGE_BYTES)..slot_of(discard.end() * PAGE_BYTES);
                    slots.for_each(|slot| used[slot as usize] = false);
                    given_back += 1;
                }
                let is_new = *write && (at - files.first).is_multiple_of(files.room);
                let was_used = std::mem::replace(&mut used[slot_of(*at) as usize], true);
                assert_eq!(is_new, !was_used);
            }
            assert!(
                discards.next().is_none(),
                "all lie before rows of their block"
            );
        }
        assert!(given_back > 1500, "{given_back}");
    }

    #[test]
    fn processes_follow_each_other() {
        let length = |processes| {
            let source = postmark(10, processes).source(&settings(u64::MAX, 20 * SLOT, 1));
            touches(source.unwrap()).len()
        };
        assert!(length(5) > 4 * length(1), "each creates a pool of its own");
    }

    #[test]
    fn files_that_are_none_are_refused() {
        for (least, most) in [(0, 10), (11, 10)] {
            let kind = Postmark {
                least: Bytes(least),
                most: Bytes(most),
                ..postmark(1, 1)
            };
            let error = kind.source(&settings(1, 1 << 20, 1)).err().unwrap();
            assert!(error.to_string().contains("‘least’"), "{error}");
        }
    }
}

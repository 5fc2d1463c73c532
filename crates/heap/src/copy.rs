//! Copies of a pool that is open, while other threads go on changing it.
//!
//! The rule: *a pool is copied by the process that has it open for writing; another process copies
//! it only while none has.* The first pass copies everything, and further ones what was changed
//! meanwhile, as long as that is much; the last one, while all lanes are held, what is left, which
//! is little. So the copy is the pool at the moment of the last pass, between operations: it holds
//! all changes that were carried out before, and none of those after.
//!
//! Nothing is missed: all stores are flushed by a thread that holds a lane, and a flush notes its
//! pages; noting begins and ends while all lanes are held.

use std::path::Path;

use crate::allocator::index::Holds;
use crate::error::Result;
use crate::heap::Heap;
use crate::journal::PAGE_BYTES;
use crate::layout::header;
use crate::medium::mapped::Mode;
use crate::medium::{Mapped, Medium};

/// Bytes that are copied at once, at most.
const PIECE_BYTES: u64 = 64 << 10;
/// Changed pages that are few enough to be copied while no thread changes anything: 1 MiB.
const FEW_PAGES: usize = 256;
/// The most passes before the last one: threads may change pages as fast as they are copied.
const MAX_PASSES: usize = 8;

impl<M: Medium> Heap<M> {
    /// Copies the pool to a new file, which gets its name when the copy is whole and durable. Other
    /// threads may go on: the copy holds exactly the changes that they had carried out at one
    /// moment, at which they wait until the pages are copied that were changed last, 1 MiB of them
    /// if they are not changed faster than they are copied. Capacity is not copied. The copy opens
    /// as a pool that was closed.
    ///
    /// A file that is copied in another way while the pool is open may hold a part of a change, and
    /// lack others; [`Heap::open`] refuses such a copy where the file system tells the time at
    /// which a file was made.
    ///
    /// # Errors
    ///
    /// The file exists, or there is no room for it; this thread is within a transaction; a fence
    /// failed.
    pub fn copy(&self, to: impl AsRef<Path>) -> Result<()> {
        self.expect_alone()?;
        let mut copy = Mapped::create(to.as_ref(), self.len(), Mode::Synced)?;
        self.copy_pool(&copy)?;
        copy.name()
    }

    /// Copies the pool to a medium that is all zeros and at least as long.
    ///
    /// # Errors
    ///
    /// The medium cannot grow as the pool does meanwhile, or a fence failed.
    pub(crate) fn copy_pool(&self, to: &impl Medium) -> Result<()> {
        let core = self.core();
        let medium = &core.space.pool.medium;
        let _alone = self.hold_copying();
        let end = {
            let _all = core.lanes.hold_all();
            medium.outcome()?;
            let end = self.len();
            medium.note_changes(end);
            end
        };
        let copied = self.passes(to, end);
        medium.forget_changes();
        copied
    }

    fn passes(&self, to: &impl Medium, end: u64) -> Result<()> {
        let core = self.core();
        let medium = &core.space.pool.medium;
        let mut changed: Vec<u64> = (0..end.div_ceil(PAGE_BYTES)).collect();
        for _ in 0..MAX_PASSES {
            self.copy_pages(to, &changed);
            changed = medium.take_changed();
            if changed.len() <= FEW_PAGES {
                break;
            }
        }
        let _growing = self.hold_growth();
        let _all = core.lanes.hold_all();
        medium.outcome()?;
        core.lanes.settle_held(&core.space)?;
        changed.extend(medium.take_changed());
        changed.extend(end / PAGE_BYTES..self.len() / PAGE_BYTES);
        changed.push(0);
        to.grow(self.len())?;
        self.copy_pages(to, &changed);
        // What is in the journal is in its place in memory, and so in the copy, which no program
        // has open.
        to.store_word(header::JOURNAL_AT, 0);
        to.store(header::OPENED_AT, &[0; header::OPENED_BYTES as usize]);
        to.sync()
    }

    /// Copies pages, rows of them together.
    fn copy_pages(&self, to: &impl Medium, pages: &[u64]) {
        let mut piece = Vec::with_capacity(PIECE_BYTES as usize);
        for row in pages.chunk_by(|page, next| page + 1 == *next) {
            let (mut at, end) = (
                row[0] * PAGE_BYTES,
                (row[0] + row.len() as u64) * PAGE_BYTES,
            );
            while at < end {
                let behind = (at / PIECE_BYTES + 1) * PIECE_BYTES;
                piece.resize((end.min(behind) - at) as usize, 0);
                self.copy_piece(to, at, &mut piece);
                at += piece.len() as u64;
            }
        }
    }

    /// Copies a piece of a chunk, or of several chunks, unless it holds capacity.
    fn copy_piece(&self, to: &impl Medium, at: u64, piece: &mut [u8]) {
        let space = &self.core().space;
        let geometry = &space.pool.geometry;
        let last = geometry.chunk_of(at + piece.len() as u64 - 1);
        let used = space.pool.used();
        for chunk in geometry.chunk_of(at)..=last {
            let first = geometry.offset_of(chunk).max(at);
            let end = geometry.offset_of(chunk + 1).min(at + piece.len() as u64);
            let table = geometry.is_table(chunk);
            if space.index.holds(chunk) == Holds::Capacity || chunk >= used && !table {
                continue;
            }
            let part = &mut piece[..(end - first) as usize];
            space.pool.medium.load(first, part);
            to.store(first, part);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;
    use crate::check::check;
    use crate::containers::{BTreeMap, HashMap};
    use crate::medium::simulated::{Granule, Simulated};
    use crate::options::Options;

    type Memory = Arc<Simulated>;

    /// Ends the threads of a test, whether or not it has failed.
    struct Stops<'s>(&'s AtomicBool);

    impl Drop for Stops<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    const ACCOUNTS: u64 = 40;

    /// Half of the copies: `TERRACE_COPIES`, 60 by default.
    fn copies() -> u64 {
        let copies = std::env::var("TERRACE_COPIES").ok();
        copies.map_or(60, |copies| copies.parse().unwrap()) / 2
    }

    /// Threads move amounts between accounts, and count their moves, while copies are made: each
    /// copy has the sum, and of each thread a count that lies between those before and after the
    /// copy.
    #[test]
    fn a_copy_is_the_pool_at_one_moment() {
        for journal in [false, true] {
            let pool = Simulated::new(4 << 20, Granule::Line);
            let pool = Arc::new(match journal {
                true => pool.writing_pages(),
                false => pool,
            });
            let options = Options::default().chunk_bytes(4096).lanes(3);
            let heap = Heap::make_on(pool, &options).unwrap();
            let accounts = HashMap::<u64, [u64; 40], Memory>::open(&heap, "accounts").unwrap();
            let moves = BTreeMap::<u64, u64, Memory>::open(&heap, "moves").unwrap();
            for account in 0..ACCOUNTS {
                accounts.insert(&account, &[100; 40]).unwrap();
            }
            for thread in 0..2 {
                moves.insert(&thread, &0).unwrap();
            }
            let stop = AtomicBool::new(false);
            let work = |thread: u64| {
                for i in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let (from, to) = (i * 7 % ACCOUNTS, (i * 11 + thread) % ACCOUNTS);
                    heap.transaction(|tx| {
                        let (accounts, moves) = (tx.open(&accounts)?, tx.open(&moves)?);
                        if from != to {
                            let (a, b) = (accounts.get(&from)?, accounts.get(&to)?);
                            let (a, b) = (a.unwrap(), b.unwrap());
                            accounts.insert(&from, &a.map(|a| a.wrapping_sub(1)))?;
                            accounts.insert(&to, &b.map(|b| b.wrapping_add(1)))?;
                        }
                        moves.insert(&thread, &(i + 1)).map(drop)
                    })
                    .unwrap();
                    heap.publish(
                        heap.root::<u64>(&format!("{thread} {}", i % 20), 9)
                            .unwrap(),
                        &i,
                    )
                    .ok();
                }
            };
            thread::scope(|scope| {
                (0..2).for_each(|thread| drop(scope.spawn(move || work(thread))));
                let _stops = Stops(&stop);
                for _ in 0..copies() {
                    let before = [0, 1].map(|thread| moves.get(&thread).unwrap());
                    let copy = Simulated::new(4 << 20, Granule::Line);
                    heap.copy_pool(&copy).unwrap();
                    let after = [0, 1].map(|thread| moves.get(&thread).unwrap());
                    let copy = Arc::new(Simulated::from_bytes(&copy.bytes(), Granule::Line));
                    assert_eq!(check(Arc::clone(&copy)), []);
                    let opened = crate::heap::open_on(copy).unwrap();
                    let accounts =
                        HashMap::<u64, [u64; 40], Memory>::open(&opened, "accounts").unwrap();
                    let all = accounts.iter().collect::<Result<Vec<_>>>().unwrap();
                    assert_eq!(all.len() as u64, ACCOUNTS);
                    for word in 0..40 {
                        let sum = all
                            .iter()
                            .fold(0u64, |sum, (_, a)| sum.wrapping_add(a[word]));
                        assert_eq!(sum, 100 * ACCOUNTS);
                    }
                    let moves = BTreeMap::<u64, u64, Memory>::open(&opened, "moves").unwrap();
                    for thread in 0..2 {
                        let found = moves.get(&(thread as u64)).unwrap();
                        assert!(before[thread] <= found && found <= after[thread]);
                    }
                }
            });
        }
    }

    /// What is changed while the first pass is under way is in the copy.
    #[test]
    fn a_copy_grows_with_its_pool_and_has_no_capacity() {
        let options = Options::default().chunk_bytes(4096).lanes(1);
        let medium = Arc::new(Simulated::new(64 << 12, Granule::Line));
        let heap = Heap::make_on(Arc::clone(&medium), &options).unwrap();
        let place = heap.root::<[u64; 900]>("large", 1).unwrap();
        heap.publish(place, &[5; 900]).unwrap();
        let capacity = heap.capacity_alloc(4096).unwrap();
        // SAFETY: it was allocated above, and nothing else uses it.
        unsafe { capacity.cast::<u64>().as_ptr().write(77) };
        let copy = Simulated::new(64 << 12, Granule::Line);
        heap.copy_pool(&copy).unwrap();
        let bytes = copy.bytes();
        assert!(!bytes.as_chunks::<8>().0.contains(&77u64.to_le_bytes()));
        let copy = Arc::new(Simulated::from_bytes(&bytes, Granule::Line));
        assert_eq!(check(Arc::clone(&copy)), []);
        let opened = crate::heap::open_on(copy).unwrap();
        let place = opened.root::<[u64; 900]>("large", 1).unwrap();
        let found = opened.read(opened.read(place).unwrap()).unwrap();
        assert_eq!(found, [5; 900]);
    }
}

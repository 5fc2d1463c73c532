//! Figures of a run, and the board on which they can be read while it lasts, from other processes
//! too.

use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::{Pod, Zeroable};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use terrace_policy::write::{REGISTRY, Written};

/// Figures of the extended memory of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Figures {
    /// Pages without contents that were filled with zeros: at a fault, or ahead of it behind first
    /// touches in a row. Pages that were filled ahead and left DRAM unused are not among them.
    pub first_touches: u64,
    /// Pages that were filled ahead and left DRAM as zeros: nothing is known of a touch.
    pub filled_unused: u64,
    /// Faults on pages in the slow memory; each is a read.
    pub fetches: u64,
    /// Faults on pages in the staging range, from which they come back.
    pub returns: u64,
    /// First writes to pages that came in to be read.
    pub first_writes: u64,
    /// Pages that left as they had come.
    pub evicted_clean: u64,
    /// Pages that left after they were written.
    pub evicted_dirty: u64,
    /// Pages that were written to the slow memory.
    pub pages_written: u64,
    /// What the chosen scheme wrote.
    pub written: Counts,
    /// Pages that could not be written, and stayed in DRAM.
    pub write_errors: u64,
    /// Pages that could not be read. A thread that touches one gets SIGBUS.
    pub read_errors: u64,
    /// Pages that stay in DRAM beyond its bound now, because they could not be written or moved.
    pub kept: u64,
    /// Pages that were read before they were touched. They end as used, late or wasted, or wait
    /// still.
    pub prefetched: u64,
    /// Prefetched pages that were touched after they had come.
    pub prefetched_used: u64,
    /// Prefetched pages that were touched while they were on their way.
    pub prefetched_late: u64,
    /// Prefetched pages that left, or could not be read, before they were known to have been
    /// touched.
    pub prefetched_wasted: u64,
    /// Nanoseconds for which faults of `fetches` were served, from when they were seen on.
    pub fetch_nanos: u64,
    /// Pages that were taken from their addresses, and stayed in DRAM, so that their next touch
    /// would show.
    pub sampled: u64,
    /// Of these, pages that were touched before the replacement policy let go of them: soft faults,
    /// which the policy was told of.
    pub references: u64,
    /// Pages that could not be sampled: they are shared since a fork, locked, read-only, or used by
    /// a device.
    pub unsampled: u64,
    /// Nanoseconds that taking the pages of `sampled` from their addresses took.
    pub sample_nanos: u64,
    /// Nanoseconds for which faults of `references` were served, from when they were seen on.
    pub reference_nanos: u64,
    /// The bound of DRAM in pages, which each process has for itself. From here on what processes
    /// show is not added up: the largest counts.
    pub dram: u64,
    /// The most pages that were in DRAM at the same time.
    pub peak_dram: u64,
    /// The most pages that had contents at the same time, wherever.
    pub peak_footprint: u64,
    /// Writes of the line of 64 bytes that was written most.
    pub most_written_line: u64,
    /// Places of the slow memory, up to the last that was written.
    pub places: u64,
}

/// What was written, as [`Written`] counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Counts {
    /// Bytes.
    pub bytes: u64,
    /// Lines of 64 bytes.
    pub lines: u64,
    /// Sectors of 512 bytes.
    pub sectors: u64,
    /// Cells, one a bit.
    pub cells: u64,
    /// Bytes of metadata.
    pub metadata: u64,
}

impl From<Written> for Counts {
    fn from(written: Written) -> Self {
        Self {
            bytes: written.bytes,
            lines: written.lines,
            sectors: written.sectors,
            cells: written.cells,
            metadata: written.metadata,
        }
    }
}

/// What each scheme of the registry would have written, in its order.
pub type Rows = [Counts; SCHEMES];

/// Schemes of the registry.
const SCHEMES: usize = REGISTRY.len();
/// Words of figures.
const FIGURES: usize = size_of::<Figures>() / 8;
/// Words of figures that processes add up.
const SUMS: usize = offset_of!(Figures, dram) / 8;
/// Words of rows.
const ROWS: usize = size_of::<Rows>() / 8;
/// The word of the process that shows its figures.
const OWNER: usize = 0;
/// The word of the number of processes that were refused.
const OTHERS: usize = 1;
/// Words before the figures.
const HEAD: usize = 2;
/// Words of a board.
const WORDS: usize = HEAD + FIGURES + ROWS;

/// Figures in memory that processes can share: those of a process and of the children that it
/// forks, added up.
#[derive(Debug)]
pub struct Board {
    words: *const AtomicU64,
}

// SAFETY: the words are atomic, and stay mapped as long as the board lives.
unsafe impl Send for Board {}
// SAFETY: as above.
unsafe impl Sync for Board {}

impl Board {
    /// Makes a board in memory of this process.
    ///
    /// # Errors
    /// Returns the kernel's.
    pub fn new() -> io::Result<Self> {
        // SAFETY: a new mapping, which touches no memory of ours.
        let words = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                WORDS * 8,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )?
        };
        Ok(Self {
            words: words.cast(),
        })
    }

    /// Opens the board in a file, which becomes as large as it has to be.
    ///
    /// # Errors
    /// Returns the kernel's.
    pub fn open(file: &File) -> io::Result<Self> {
        if file.metadata()?.len() < WORDS as u64 * 8 {
            file.set_len(WORDS as u64 * 8)?;
        }
        // SAFETY: a new mapping, which touches no memory of ours. The file is as long as it.
        let words = unsafe {
            mmap(
                std::ptr::null_mut(),
                WORDS * 8,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                file,
                0,
            )?
        };
        Ok(Self {
            words: words.cast(),
        })
    }

    /// Returns the figures.
    pub fn figures(&self) -> Figures {
        let mut words = [0; FIGURES];
        self.load(HEAD, &mut words);
        bytemuck::cast(words)
    }

    /// Returns the rows of the schemes.
    pub fn rows(&self) -> Rows {
        let mut words = [0; ROWS];
        self.load(HEAD + FIGURES, &mut words);
        bytemuck::cast(words)
    }

    /// Makes a process the owner of the board, if it has none or is it already, and returns whether
    /// it is. A process that is refused is counted.
    pub fn claim(&self, process: u32) -> bool {
        let (none, us) = (0, u64::from(process));
        let owner = self.word(OWNER);
        let claimed = owner.compare_exchange(none, us, Ordering::Relaxed, Ordering::Relaxed);
        let ours = claimed.is_ok() || claimed == Err(us);
        if !ours {
            self.word(OTHERS).fetch_add(1, Ordering::Relaxed);
        }
        ours
    }

    /// Returns the owner; `None` if there was none yet.
    pub fn owner(&self) -> Option<u32> {
        let owner = self.word(OWNER).load(Ordering::Relaxed);
        (owner != 0).then_some(owner as u32)
    }

    /// Returns how many processes were refused.
    pub fn others(&self) -> u64 {
        self.word(OTHERS).load(Ordering::Relaxed)
    }

    /// Adds what has come to the figures of this process since `shown`, which are what the board
    /// has of them.
    pub(crate) fn add_figures(&self, shown: &mut Figures, figures: &Figures) {
        let before: [u64; FIGURES] = bytemuck::cast(*shown);
        let now: [u64; FIGURES] = bytemuck::cast(*figures);
        self.add(HEAD, &before[..SUMS], &now[..SUMS]);
        for (at, now) in now.iter().enumerate().skip(SUMS) {
            if before[at] != *now {
                self.word(HEAD + at).fetch_max(*now, Ordering::Relaxed);
            }
        }
        *shown = *figures;
    }

    /// Adds what has come to the rows of this process since `shown`.
    pub(crate) fn add_rows(&self, shown: &mut Rows, rows: &Rows) {
        let before: [u64; ROWS] = bytemuck::cast(*shown);
        let now: [u64; ROWS] = bytemuck::cast(*rows);
        self.add(HEAD + FIGURES, &before, &now);
        *shown = *rows;
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        assert!(at < WORDS);
        // SAFETY: the word lies in the mapping, which is aligned to pages, and is accessed
        // atomically by all.
        unsafe { &*self.words.add(at) }
    }

    fn load(&self, from: usize, words: &mut [u64]) {
        for (at, word) in words.iter_mut().enumerate() {
            *word = self.word(from + at).load(Ordering::Relaxed);
        }
    }

    fn add(&self, to: usize, before: &[u64], now: &[u64]) {
        for (at, (before, now)) in before.iter().zip(now).enumerate() {
            // Some figures also become less.
            let more = now.wrapping_sub(*before);
            if more != 0 {
                self.word(to + at).fetch_add(more, Ordering::Relaxed);
            }
        }
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and no reference to its words is left.
        let _ = unsafe { munmap(self.words.cast_mut().cast(), WORDS * 8) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_board_of_the_file_shows_the_same() {
        let file = tempfile::tempfile().unwrap();
        let (ours, theirs) = (Board::open(&file).unwrap(), Board::open(&file).unwrap());
        let figures = Figures {
            fetches: 3,
            places: 7,
            ..Figures::default()
        };
        let mut rows = Rows::default();
        rows[SCHEMES - 1].metadata = 9;
        theirs.add_figures(&mut Figures::default(), &figures);
        theirs.add_rows(&mut Rows::default(), &rows);
        assert_eq!((ours.figures(), ours.rows()), (figures, rows));
        assert_eq!(ours.owner(), None);
        assert!(theirs.claim(3) && theirs.claim(3) && !ours.claim(4));
        assert_eq!((ours.owner(), theirs.others()), (Some(3), 1));
    }

    #[test]
    fn processes_add_up_and_the_largest_peak_counts() {
        let board = Board::new().unwrap();
        let figures = |fetches, kept, peak_dram| Figures {
            fetches,
            kept,
            peak_dram,
            ..Figures::default()
        };
        let mut ours = Figures::default();
        board.add_figures(&mut ours, &figures(5, 3, 10));
        let mut child = ours;
        board.add_figures(&mut child, &figures(7, 1, 12));
        board.add_figures(&mut ours, &figures(6, 3, 11));
        assert_eq!(board.figures(), figures(8, 1, 12));
    }
}

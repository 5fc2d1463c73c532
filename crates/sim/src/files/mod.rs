//! Simulation of a page cache in DRAM, a flash level and a disk, over requests for files or blocks:
//! Koob 2010.
//!
//! Requests are served one after the other, page by page, in virtual time: from DRAM in the time of
//! a copy, from flash in the time of its technology, times a slow-down, and from the disk in the
//! time of a seek, where the page does not follow the one before, and of the transfer. What flash
//! and disk write in the background takes them no time that a reader waits for, until more waits
//! than the buffer holds.
//!
//! The slides draw three organisations and do not describe them further than that the one that was
//! built is filled with the page cache's evictions. Here they are ([`Organisation`]):
//!
//! - *extended buffer cache*: what DRAM evicts is offered to flash. A copy stays on flash when the
//!   page is read into DRAM again, and is then not written again;
//! - *multilevel buffer cache*: what the disk delivers is offered to flash at once, as processor
//!   caches include each other;
//! - *multilevel main memory*: a page is in DRAM or on flash, and moves between them. Each move to
//!   flash is a write; so under a budget of writes, a page on flash is read where it is, and stays
//!   there.
//!
//! With read-ahead ([`terrace_policy::readahead`]) a read that neither DRAM nor flash serves has
//! the disk read a window of the file. Its reader waits for the pages that lie in a row with the
//! first; a window that a mark leads to is read while the reader goes on. Pages that leave DRAM
//! before they are read are not offered to flash, as in ZFS's L2ARC, and are counted.
//!
//! An offer is answered by policies of [`terrace_policy::admission`], the same that serve `terrace
//! mount`. Flash never holds the only copy: a page that is written leaves flash, and goes to the
//! disk at once, or when DRAM evicts it.

mod ahead;
mod count;
mod day;
mod disk;
mod extent;
mod flash;
mod front;
mod grid;
mod hierarchy;
pub mod options;
mod outcome;
mod requests;
pub mod results;
mod run;
mod settings;
mod span;
mod station;
mod timeline;

pub use count::Counts;
pub use front::FilesSimulation;
pub use grid::Grid;
pub use outcome::{Outcome, Run, Simulated};
pub use run::{accesses, run};
pub use settings::{FilesMachine, Organisation, SlowDown, Technology, Writes};
pub use timeline::Point;

//! A trace whose accesses are marked with the site of their object.
//!
//! The mark takes the place of the process: to the caches each site is an address space of its own,
//! and what they request of memory says whose it is. Lines of memory that is no recorded object
//! (code's data, stacks, small objects) are those of their process. An address that was freed and
//! allocated again by another site is another line, which costs a miss that a real cache need not
//! have.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};
use terrace_base::{Error, Result};
use terrace_policy::PAGE_BYTES;
use terrace_trace::allocation::Allocations;
use terrace_trace::{Block, Columns, Meta, Reading, Source};

use super::Recording;
use super::objects::Objects;

/// The number of a site, or none for other memory.
pub type Owner = Option<usize>;

/// What was read so far, and what marks stand for.
#[derive(Debug, Default)]
pub struct Read {
    owners: Vec<Owner>,
    numbers: FxHashMap<(u16, Owner), u16>,
    /// The accesses of each site.
    pub accesses: Vec<u64>,
    /// The pages that hold something else than recorded objects, by process and number.
    pub other_pages: FxHashSet<(u16, u64)>,
}

impl Read {
    /// Returns the mark of memory of a process.
    fn mark(&mut self, process: u16, owner: Owner) -> Result<u16> {
        if let Some(mark) = self.numbers.get(&(process, owner)) {
            return Ok(*mark);
        }
        let mark = u16::try_from(self.owners.len()).map_err(|_| {
            Error::usage(
                "the trace has more than 65536 allocation sites of all its processes together; record with a larger \
                 --allocations=SIZE",
            )
        })?;
        self.owners.push(owner);
        self.numbers.insert((process, owner), mark);
        Ok(mark)
    }

    /// Returns whose a mark is.
    pub fn owner(&self, mark: u16) -> Owner {
        self.owners.get(usize::from(mark)).copied().flatten()
    }
}

/// [`Read`], which the trace writes and the requests to memory need, on other threads.
#[derive(Clone, Debug, Default)]
pub struct Shared(Arc<Mutex<Read>>);

impl Shared {
    /// Returns what was read so far.
    pub fn read(&self) -> MutexGuard<'_, Read> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A trace with marks.
struct Owned {
    source: Box<dyn Source>,
    allocations: Arc<Allocations>,
    /// The objects of the rows to come; the object that was found last is kept between blocks.
    objects: Objects,
    shared: Shared,
    row: u64,
    /// The rows that are left.
    left: u64,
}

/// Opens the trace of a recording with marks, and returns what it allocated and what is being read.
///
/// # Errors
/// Errors of the trace; a usage error where it says nothing of allocations.
pub fn open(recording: &Recording) -> Result<(Box<dyn Source>, Arc<Allocations>, Shared)> {
    let columns = Columns {
        contents: false,
        ..Columns::ALL
    };
    let source = Reading::default().open(&recording.path, columns)?;
    let allocations = source.meta().allocations.as_deref().cloned();
    let mut allocations = allocations.ok_or_else(|| {
        Error::usage(format!(
            "the trace `{}` says nothing of allocations; record it with terrace record --allocations",
            recording.path.display()
        ))
    })?;
    allocations.join_by_names();
    let allocations = Arc::new(allocations);
    let shared = Shared::default();
    shared.read().accesses = vec![0; allocations.sites.len()];
    let owned = Owned {
        source,
        objects: Objects::new(allocations.clone()),
        allocations: allocations.clone(),
        shared: shared.clone(),
        row: 0,
        left: recording.limit.unwrap_or(u64::MAX),
    };
    Ok((Box::new(owned), allocations, shared))
}

impl Source for Owned {
    fn meta(&self) -> &Meta {
        self.source.meta()
    }

    fn read(&mut self, block: &mut Block) -> Result<()> {
        self.source.read(block)?;
        block.truncate(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.left -= block.len() as u64;
        let mut read = self.shared.read();
        let mut last = None;
        for index in 0..block.len() {
            let (process, address) = (block.process[index], block.address[index]);
            let object = self.objects.at(self.row, process, address);
            self.row += 1;
            let owner = object.map(|object| self.allocations.objects[object].site as usize);
            match owner {
                Some(site) => read.accesses[site] += 1,
                None => {
                    read.other_pages.insert((process, address / PAGE_BYTES));
                }
            }
            let mark = match last {
                Some((key, mark)) if key == (process, owner) => mark,
                _ => read.mark(process, owner)?,
            };
            last = Some(((process, owner), mark));
            block.process[index] = mark;
        }
        Ok(())
    }
}

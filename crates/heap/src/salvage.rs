//! Salvaging: what can be read of a damaged pool, in a new one.

use std::path::Path;

use crate::containers::salvaged::{is_of_container, salvage as salvage_container};
use crate::containers::salvaging::Lost;
use crate::error::{Error, Result};
use crate::heap::Heap;
use crate::layout::root::{ROOT_BYTES, ROOT_WORDS, Root};
use crate::medium::mapped::Mode;
use crate::medium::{Mapped, Medium};
use crate::options::Options;
use crate::pool::Pool;
use crate::survey::{self, All, Finding};

/// How much of a pool was salvaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Extent {
    /// All that the pool held.
    All,
    /// A part of it.
    Part,
    /// Nothing.
    Nothing,
}

/// What was salvaged of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Salvaged {
    /// Each root that was found.
    pub roots: Vec<SalvagedRoot>,
    /// The first 100 findings: what could not be read, and why.
    pub findings: Vec<Finding>,
    /// The number of findings beyond those.
    pub more: u64,
}

/// What was salvaged of a root.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SalvagedRoot {
    /// Name of the root.
    pub name: String,
    /// Its kind: containers have 1 to 4.
    pub kind: u16,
    /// Entries or elements that are in the new pool.
    pub read: u64,
    /// Entries or elements that could not be read.
    pub lost: u64,
    /// Parts that could not be read, each of an unknown number of entries: a node, a line, or the
    /// whole.
    pub parts: u64,
}

impl SalvagedRoot {
    /// Returns whether all of it is in the new pool.
    pub fn is_whole(&self) -> bool {
        self.lost == 0 && self.parts == 0
    }
}

impl Salvaged {
    /// Returns how much was salvaged.
    pub fn extent(&self) -> Extent {
        let whole = self.findings.is_empty();
        let any = self
            .roots
            .iter()
            .any(|root| root.read > 0 || root.is_whole());
        match (whole, any) {
            (true, _) => Extent::All,
            (false, true) => Extent::Part,
            (false, false) => Extent::Nothing,
        }
    }

    fn add(&mut self, name: &str, lost: Lost) {
        self.more += lost.found - lost.findings.len() as u64;
        for Finding { offset, what } in lost.findings {
            let what = format!("in the container {name:?}, {what}");
            self.find(offset, what);
        }
    }

    fn find(&mut self, offset: u64, what: String) {
        match self.findings.len() < crate::containers::salvaging::KEPT {
            true => self.findings.push(Finding { offset, what }),
            false => self.more += 1,
        }
    }
}

/// Writes what can be read of a pool to a new file, which gets its name when it is whole: the same
/// roots, and the containers of the same types with all entries and elements that can be read. The
/// pool itself stays as it is. The new pool is made in memory, which has to hold what the pool
/// holds.
///
/// In a pool with checksums of contents, what is salvaged is what was written. In others it is what
/// is structurally sound. Of a vector the elements before the first damaged one are salvaged, so
/// that none gets another index. Objects that a program reaches by its own pointers are not
/// salvaged.
///
/// `checksums` says whether the new pool has them; by default it has them as the old one.
///
/// # Errors
///
/// The file is no pool, or its header is damaged, or it is open already; the new file exists, or
/// there is no room for it.
pub fn salvage(
    from: impl AsRef<Path>,
    to: impl AsRef<Path>,
    checksums: Option<bool>,
) -> Result<Salvaged> {
    let (from, to) = (from.as_ref(), to.as_ref());
    if to.exists() {
        let name = to.display();
        return Err(Error::usage(format!("{name} exists; name a new file")));
    }
    let look = || Mapped::open(from, Mode::Private);
    let mut salvaged = Salvaged {
        roots: Vec::new(),
        findings: Vec::new(),
        more: 0,
    };
    match Heap::recovered(look()?) {
        Ok(heap) => salvage_pool(&heap.core().space.pool, to, checksums, salvaged),
        Err(error) => {
            salvaged.find(0, format!("the pool cannot be opened: {error}"));
            // As it lies there, without what its last operations may have left to be done.
            let all = All::default();
            let pool = survey::header::open(look()?, &all)?;
            let pool = pool.ok_or(error)?;
            salvage_pool(&pool, to, checksums, salvaged)
        }
    }
}

fn salvage_pool<M: Medium>(
    pool: &Pool<M>,
    to: &Path,
    checksums: Option<bool>,
    mut salvaged: Salvaged,
) -> Result<Salvaged> {
    let geometry = &pool.geometry;
    let options = Options::default()
        .chunk_bytes(geometry.chunk_bytes())
        .lanes(geometry.lanes)
        .hash_seed(geometry.seed)
        .checksums(checksums.unwrap_or(geometry.checksums));
    let bytes = geometry.offset_of(pool.chunks());
    let heap = Heap::make_on(Mapped::anonymous(bytes)?, &options)?;
    for (at, root) in roots(pool) {
        let word = pool.medium.load_word(at);
        if !is_of_container(root.kind) {
            if word != 0 {
                let what = format!(
                    "the root {:?} points to an object of the program's own, which is not salvaged",
                    root.name
                );
                salvaged.find(at, what);
            }
            continue;
        }
        let mut lost = Lost::default();
        let read = salvage_container(pool, (at, &root), &heap, &mut lost)?;
        salvaged.roots.push(SalvagedRoot {
            name: root.name.clone(),
            kind: root.kind,
            read,
            lost: lost.entries,
            parts: lost.parts,
        });
        salvaged.add(&root.name, lost);
    }
    heap.copy(to)?;
    Ok(salvaged)
}

/// Finds all roots, whatever the words about chunks say: each has a check that is valid in its
/// place only.
fn roots<M: Medium>(pool: &Pool<M>) -> Vec<(u64, Root)> {
    let geometry = &pool.geometry;
    let chunks = (1..pool.used()).filter(|&chunk| !geometry.is_table(chunk));
    let places = chunks.flat_map(|chunk| geometry.places(chunk, ROOT_BYTES));
    let root = |at| {
        let words = pool.load_words::<ROOT_WORDS>(at);
        // What is zero is no root, and checks of zeros take time.
        let root = (words[1] != 0)
            .then(|| Root::decode(at, &words))
            .flatten()?;
        (!root.name.is_empty()).then_some((at, root))
    };
    places.filter_map(root).collect()
}

//! The heap as programs see it.

use std::mem;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytemuck::Pod;

use crate::allocator::naive::Naive;
use crate::allocator::nvwa::Nvwa;
use crate::allocator::{Allocator, AllocatorKind};
use crate::error::{Error, Result};
use crate::journal;
use crate::layout::root::Root;
use crate::layout::{Geometry, header};
use crate::lock::lock;
use crate::medium::mapped::Mode;
use crate::medium::{Counts, Kind, Mapped, Medium};
use crate::operation::{Contents, Core, Publication};
use crate::pool::Pool;
use crate::ptr::{Place, Ptr};
use crate::recovery;
use crate::roots::Roots;

/// What is chosen when a pool is created.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The unit in which the pool is divided: a power of two from 4 KiB to 16 MiB. Smaller objects
    /// share a chunk, and no object is larger than about `chunk_bytes`² / 8.
    pub chunk_bytes: u64,
    /// How many threads can work at the same time without waiting for each other: 1 to 256.
    pub lanes: u16,
    /// Who finds room for objects.
    pub allocator: AllocatorKind,
}

impl Default for Options {
    /// Chunks of 64 KiB, for objects up to 508 MiB, 64 lanes, and the write-aware allocator.
    fn default() -> Self {
        Self {
            chunk_bytes: 1 << 16,
            lanes: 64,
            allocator: AllocatorKind::Nvwa,
        }
    }
}

/// Lines in a lane's ring of intents: with the line of its state 1 KiB.
const INTENTS: u8 = 15;

/// A persistent heap in a pool.
///
/// A clone is another handle of the same heap. When the last one is dropped the pool is closed.
/// Methods can be called by any number of threads; but who changes the same data from several
/// threads has to see to it, by a lock of his own, that they do so one after the other.
pub struct Heap<M: Medium = Mapped> {
    inner: Arc<Inner<M>>,
}

struct Inner<M: Medium> {
    id: u64,
    core: Core<M>,
    roots: Mutex<Roots>,
    growing: Mutex<()>,
}

/// A root of a heap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootInfo {
    /// Its name.
    pub name: String,
    /// Where it lies.
    pub place: Place<u8>,
    /// What it points to; null if nothing yet.
    pub pointer: Ptr<u8>,
    /// Bytes of that.
    pub size: u32,
    /// What it is, as whoever made it numbers such things.
    pub kind: u16,
}

/// An object in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectInfo {
    /// Where it lies.
    pub offset: u64,
    /// Bytes of its slot.
    pub bytes: u64,
}

/// How much room there is in a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of the pool.
    pub bytes: u64,
    /// Bytes of chunks that are used for nothing; in others there may be free slots.
    pub free: u64,
    /// Bytes of the most free chunks in a row.
    pub longest: u64,
}

impl<M: Medium> Clone for Heap<M> {
    fn clone(&self) -> Self {
        let inner = Arc::clone(&self.inner);
        Self { inner }
    }
}

impl Heap {
    /// Makes a pool of at least `bytes` bytes in a new file. What the file is, is found out
    /// ([`Heap::kind`]).
    ///
    /// # Errors
    ///
    /// There is such a file, or no room for it, or `bytes` are too few.
    pub fn create(path: impl AsRef<Path>, bytes: u64) -> Result<Self> {
        Self::create_with(path, bytes, Mode::Detected, &Options::default())
    }

    /// As [`Heap::create`], with what it else finds out and chooses.
    ///
    /// # Errors
    ///
    /// As [`Heap::create`]; the options cannot be.
    pub fn create_with(
        path: impl AsRef<Path>,
        bytes: u64,
        mode: Mode,
        options: &Options,
    ) -> Result<Self> {
        geometry(options)?;
        Self::create_on(Mapped::create(path.as_ref(), bytes, mode)?, options)
    }

    /// Opens the pool in a file.
    ///
    /// # Errors
    ///
    /// There is none, it is damaged, or somebody has it open.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_on(Mapped::open(path.as_ref(), Mode::Detected)?)
    }

    /// A heap that is gone when it is closed: capacity only.
    ///
    /// # Errors
    ///
    /// There is not as much memory.
    pub fn anonymous(bytes: u64) -> Result<Self> {
        Self::create_on(Mapped::anonymous(bytes)?, &Options::default())
    }
}

impl<M: Medium> Heap<M> {
    /// Makes a pool on a medium that is all zeros.
    ///
    /// # Errors
    ///
    /// The options cannot be, the medium is too small, or a fence failed.
    pub fn create_on(medium: M, options: &Options) -> Result<Self> {
        let geometry = geometry(options)?;
        Self::open_pool(Pool::create(medium, geometry)?)
    }

    /// Opens the pool on a medium, whatever state its last user left it in.
    ///
    /// # Errors
    ///
    /// There is no pool, it is damaged, or a fence failed.
    pub fn open_on(medium: M) -> Result<Self> {
        Self::open_pool(Pool::open(medium)?)
    }

    fn open_pool(pool: Pool<M>) -> Result<Self> {
        let allocator: Box<dyn Allocator<M>> = match pool.geometry.allocator {
            AllocatorKind::Nvwa => Box::new(Nvwa::new(pool.geometry.chunk_bytes())),
            AllocatorKind::Naive => Box::new(Naive::new(&pool.geometry)),
        };
        let (core, roots) = recovery::recover(pool, allocator)?;
        journal::begin(&core.space)?;
        let roots = Mutex::new(Roots::read(&core.space, &roots)?);
        let growing = Mutex::default();
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let inner = Inner {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            core,
            roots,
            growing,
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// The word of a root; it is made, and null, if there is none of this name. `kind` is whatever
    /// its owner wants to find there again.
    ///
    /// # Errors
    ///
    /// The root is of another type or kind, its name is longer than 104 bytes, there is no room, or
    /// a fence failed.
    pub fn root<T: Pod>(&self, name: &str, kind: u16) -> Result<Place<T>> {
        let root = Root {
            name: name.to_owned(),
            size: u32::try_from(mem::size_of::<T>()).unwrap_or(u32::MAX),
            align: mem::align_of::<T>() as u16,
            kind,
        };
        let at = lock(&self.inner.roots).place(&self.core().space, &root)?;
        Ok(Ptr::at(at))
    }

    /// Removes a root, durably; whether there was one of this name, which is free again. One line and
    /// one fence; two more fences if one of the last operations changed its pointer.
    ///
    /// Nobody uses its word any more: what is published there would be damage.
    ///
    /// # Errors
    ///
    /// It points to something, which has to be freed before; this thread is within a transaction, or
    /// a fence failed.
    pub fn remove_root(&self, name: &str) -> Result<bool> {
        if self.in_transaction() {
            return Err(Error::usage(format!(
                "the root {name:?} cannot be removed within a transaction"
            )));
        }
        let mut held = self.core().hold();
        lock(&self.inner.roots).remove(&self.core().space, &mut held, name)
    }

    /// All roots, by name.
    pub fn roots(&self) -> Vec<RootInfo> {
        let space = &self.core().space;
        let roots = lock(&self.inner.roots).all(space);
        let info = |(at, root): (u64, Root)| RootInfo {
            name: root.name,
            place: Ptr::at(at),
            pointer: Ptr::at(space.pool.medium.load_word(at)),
            size: root.size,
            kind: root.kind,
        };
        roots.into_iter().map(info).collect()
    }

    /// Makes an object, durably, and has `place` point to it: 2 lines besides those of the object,
    /// one fence. After a crash both are so, or the object never was.
    ///
    /// # Errors
    ///
    /// `place` points to something already, or is none; there is no room, or a fence failed.
    pub fn publish<T: Pod>(&self, place: Place<T>, value: &T) -> Result<Ptr<T>> {
        self.expect_null(place)?;
        let publication = Publication {
            destination: place.offset(),
            upper: 0,
            kind: 0,
            contents: Contents::Parts(&[bytemuck::bytes_of(value)]),
        };
        self.core().publish(&publication).map(Ptr::at)
    }

    /// Whether a word is there and holds no pointer.
    pub(crate) fn expect_null<T: 'static>(&self, place: Place<T>) -> Result<()> {
        if self.read(place)?.is_null() {
            return Ok(());
        }
        Err(Error::usage(format!(
            "the word at {} points to an object already",
            place.offset()
        )))
    }

    /// Frees the object to which `place` points, and makes it null: 3 lines, one fence. After a
    /// crash both are so, or neither. If it is null nothing is done.
    ///
    /// # Errors
    ///
    /// `place` is no word or does not point to an object, or a fence failed.
    pub fn free<T: 'static>(&self, place: Place<T>) -> Result<()> {
        let pointer = self.read(place)?;
        if pointer.is_null() {
            return Ok(());
        }
        self.core()
            .change(&[(place.offset(), 0)], Some(pointer.offset()))
    }

    /// Changes one word, durably: 2 lines, one fence.
    ///
    /// # Errors
    ///
    /// It is no word, or a fence failed.
    pub fn set(&self, at: Ptr<u64>, value: u64) -> Result<()> {
        self.check(at)?;
        self.core().change(&[(at.offset(), value)], None)
    }

    /// A copy of what lies there.
    ///
    /// # Errors
    ///
    /// It is null, or not wholly in the pool.
    pub fn read<T: Pod>(&self, at: Ptr<T>) -> Result<T> {
        self.check(at)?;
        let mut value = T::zeroed();
        let bytes = bytemuck::bytes_of_mut(&mut value);
        self.core().space.pool.medium.load(at.offset(), bytes);
        Ok(value)
    }

    fn check<T>(&self, at: Ptr<T>) -> Result<()> {
        let size = mem::size_of::<T>().next_multiple_of(8) as u64;
        match at.is_null() {
            true => Err(Error::usage("a null pointer points to nothing")),
            false => self.core().space.pool.check(at.offset(), size, "a pointer"),
        }
    }

    /// Makes the pool at least `bytes` long.
    ///
    /// # Errors
    ///
    /// The medium cannot grow that far, or a fence failed.
    pub fn grow(&self, bytes: u64) -> Result<()> {
        let _alone = lock(&self.inner.growing);
        let space = &self.core().space;
        let old = space.pool.chunks();
        space.pool.grow(bytes)?;
        recovery::free_between(space, old, space.pool.chunks(), &[]);
        Ok(())
    }

    /// Makes the allocation log as short as it can be, and says how many bytes became free. It is
    /// done by itself when the pool is full.
    ///
    /// # Errors
    ///
    /// The pool is damaged, or a fence failed.
    pub fn compact(&self) -> Result<u64> {
        let chunks = self.core().compact()? as u64;
        Ok(self.core().space.pool.geometry.offset_of(chunks))
    }

    /// All objects in use, in the order of their offsets. While others work, it may miss some of
    /// what they do.
    pub fn objects(&self) -> Vec<ObjectInfo> {
        let space = &self.core().space;
        let runs = (1..space.pool.used()).filter_map(|chunk| space.index.get(chunk));
        let persistent = runs.filter(|run| !run.capacity);
        persistent
            .flat_map(|run| {
                let used = (0..run.slots()).filter(|&slot| run.record(slot) != 0);
                used.map(|slot| ObjectInfo {
                    offset: run.offset_of(slot),
                    bytes: run.slot_bytes(),
                })
            })
            .collect()
    }

    /// How much room there is.
    pub fn usage(&self) -> Usage {
        let core = self.core();
        let geometry = &core.space.pool.geometry;
        core.reclaim();
        Usage {
            bytes: self.len(),
            free: geometry.offset_of(core.space.chunks.count()),
            longest: geometry.offset_of(core.space.chunks.longest()),
        }
    }

    /// Bytes of the pool.
    pub fn len(&self) -> u64 {
        let pool = &self.core().space.pool;
        pool.geometry.offset_of(pool.chunks())
    }

    /// Never: a pool has at least its header.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Lines, fences, syncs and bytes since the pool was opened.
    pub fn counts(&self) -> Counts {
        self.core().space.pool.medium.counts()
    }

    /// What the pool lies on.
    pub fn kind(&self) -> Kind {
        self.medium().kind()
    }

    /// What the pool lies on.
    pub fn medium(&self) -> &M {
        self.core().space.pool.medium.medium()
    }

    /// Tells this heap from all others that the program ever has.
    pub(crate) fn id(&self) -> u64 {
        self.inner.id
    }

    pub(crate) fn core(&self) -> &Core<M> {
        &self.inner.core
    }
}

fn geometry(options: &Options) -> Result<Geometry> {
    let Options {
        chunk_bytes,
        lanes,
        allocator,
    } = *options;
    let shift = chunk_bytes.trailing_zeros();
    if !chunk_bytes.is_power_of_two() || !header::SHIFTS.contains(&shift) {
        return Err(Error::usage(format!(
            "a chunk has a power of two from 4096 to 16777216 bytes, not {chunk_bytes}"
        )));
    }
    if !(1..=256).contains(&lanes) {
        return Err(Error::usage(format!(
            "a pool has 1 to 256 lanes, not {lanes}"
        )));
    }
    Ok(Geometry {
        shift,
        lanes,
        intents: INTENTS,
        allocator,
    })
}

impl<M: Medium> Drop for Inner<M> {
    /// Leaves nothing to be done again. Whoever cannot be told that it failed finds it done by the
    /// next to open the pool.
    fn drop(&mut self) {
        let _ = self.core.close();
    }
}

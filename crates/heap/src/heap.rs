//! The heap as programs see it: made, opened, grown, closed.

use std::any::Any;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytemuck::Pod;

use crate::containers::Open;
use crate::error::{Cause, Error, Result};
use crate::guard::Inside;
use crate::journal;
use crate::lane::own::Stamp;
use crate::lane::window::Range;
use crate::lock::lock;
use crate::medium::mapped::Mode;
use crate::medium::{Counts, Kind, Mapped, Medium};
use crate::operation::{Core, Operation};
use crate::options::Options;
use crate::pool::Pool;
use crate::ptr::{Place, Ptr};
use crate::recovery;
use crate::roots::Roots;
use crate::sink::Sink;
use crate::transaction::Transaction;

/// A persistent heap in a pool.
///
/// A clone is another handle of the same heap. When the last one is dropped the pool is closed;
/// [`Heap::close`] says whether that went well. Methods can be called by any number of threads.
/// Containers see to it that threads which use the same one do not get in each other's way; objects
/// that a program changes by their pointers ([`Heap::set`]) it protects by locks of its own.
///
/// A heap belongs to the process that has opened it: in a child of that process every method fails.
pub struct Heap<M: Medium = Mapped> {
    inner: Arc<Inner<M>>,
}

struct Inner<M: Medium> {
    id: u64,
    core: Core<M>,
    roots: Mutex<Roots>,
    growing: Mutex<()>,
    open: Mutex<Open>,
}

/// How much room there is in a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
    /// ([`Heap::kind`]). The file has its name when the pool is whole, and none before.
    ///
    /// # Errors
    ///
    /// There is such a file, or no room for it, or `bytes` are too few.
    pub fn create(path: impl AsRef<Path>, bytes: u64) -> Result<Self> {
        Self::create_with(path, bytes, Mode::Detected, &Options::default())
    }

    /// Same as [`Heap::create`], with what it else finds out and chooses.
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
        let geometry = options.geometry()?;
        let medium = Mapped::create(path.as_ref(), bytes, mode)?;
        let mut pool = Pool::create(medium, geometry)?;
        pool.medium.medium_mut().name()?;
        Self::open_pool(pool)
    }

    /// Opens the pool in a file, whatever state its last user left it in.
    ///
    /// # Errors
    ///
    /// There is none, it is damaged, or it is open in another program.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_pool(Pool::open(Mapped::open(path.as_ref(), Mode::Detected)?)?)
    }

    /// Opens the pool in a file, or makes one of at least `bytes` bytes there if there is no such file.
    ///
    /// # Errors
    ///
    /// As [`Heap::open`] and [`Heap::create`].
    pub fn open_or_create(path: impl AsRef<Path>, bytes: u64) -> Result<Self> {
        let path = path.as_ref();
        match Self::create(path, bytes) {
            Err(error) if error.cause() == Cause::Usage && path.exists() => Self::open(path),
            made => made,
        }
    }

    /// A heap that is gone when it is closed: capacity only.
    ///
    /// # Errors
    ///
    /// There is not as much memory.
    pub fn anonymous(bytes: u64) -> Result<Self> {
        let geometry = Options::default().geometry()?;
        Self::open_pool(Pool::create(Mapped::anonymous(bytes)?, geometry)?)
    }
}

impl<M: Medium> Heap<M> {
    /// Makes a pool on a medium that is all zeros.
    ///
    /// # Safety
    ///
    /// Nobody else stores to the medium as long as the heap is open.
    ///
    /// # Errors
    ///
    /// The options cannot be, the medium is too small, or a fence failed.
    pub unsafe fn create_on(medium: M, options: &Options) -> Result<Self> {
        Self::make_on(medium, options)
    }

    pub(crate) fn make_on(medium: M, options: &Options) -> Result<Self> {
        Self::open_pool(Pool::create(medium, options.geometry()?)?)
    }

    /// Opens the pool on a medium, whatever state its last user left it in.
    ///
    /// # Safety
    ///
    /// Nobody else stores to the medium as long as the heap is open.
    ///
    /// # Errors
    ///
    /// There is no pool, it is damaged, or a fence failed.
    pub unsafe fn open_on(medium: M) -> Result<Self> {
        Self::open_pool(Pool::open(medium)?)
    }

    pub(crate) fn open_pool(pool: Pool<M>) -> Result<Self> {
        let (core, roots) = recovery::recover(pool)?;
        core.space.pool.upgrade()?;
        journal::begin(&core.space)?;
        let roots = Mutex::new(Roots::read(&core.space, &roots)?);
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let inner = Inner {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            core,
            roots,
            growing: Mutex::default(),
            open: Mutex::default(),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Closes the pool: everything is where it belongs, durably, and nothing is left to be recovered.
    /// Other handles of the heap, and containers in it, fail from now on. Dropping the last handle does
    /// the same, but cannot say whether it went well.
    ///
    /// # Errors
    ///
    /// It was closed already; this is a child of the process that opened it; the pool could not be
    /// written. Then it is recovered when it is opened next.
    pub fn close(self) -> Result<()> {
        self.expect_open()?;
        self.core().close()
    }

    /// Makes the pool at least `bytes` long.
    ///
    /// # Errors
    ///
    /// The medium cannot grow that far, or a fence failed.
    pub fn grow(&self, bytes: u64) -> Result<()> {
        self.expect_open()?;
        let _alone = lock(&self.inner.growing);
        let space = &self.core().space;
        let old = space.pool.chunks();
        space.pool.grow(bytes)?;
        recovery::free_between(space, old, space.pool.chunks(), &[]);
        Ok(())
    }

    /// Makes the allocation log as short as it can be; returns how many bytes became free. It is done
    /// by itself when the pool is full.
    ///
    /// # Errors
    ///
    /// The pool is damaged, or a fence failed.
    pub fn compact(&self) -> Result<u64> {
        self.expect_open()?;
        let chunks = self.core().compact()? as u64;
        Ok(self.core().space.pool.geometry.offset_of(chunks))
    }

    /// How much room there is.
    ///
    /// # Errors
    ///
    /// The heap was closed, or this is a child of the process that opened it.
    pub fn usage(&self) -> Result<Usage> {
        self.expect_open()?;
        let core = self.core();
        let geometry = &core.space.pool.geometry;
        core.reclaim();
        Ok(Usage {
            bytes: self.len(),
            free: geometry.offset_of(core.space.chunks.count()),
            longest: geometry.offset_of(core.space.chunks.longest()),
        })
    }

    /// Bytes of the pool.
    pub fn len(&self) -> u64 {
        let pool = &self.core().space.pool;
        pool.geometry.offset_of(pool.chunks())
    }

    /// Always false: a pool has at least its header.
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

    /// The address of the pool's first byte, which stays the same while the heap is open. What may be
    /// done there, the methods say that have to do with addresses ([`Heap::persist`],
    /// [`Heap::capacity_alloc`]).
    pub fn base(&self) -> *mut u8 {
        self.medium().base()
    }

    pub(crate) fn medium(&self) -> &M {
        self.core().space.pool.medium.medium()
    }

    /// Tells this heap from all others that the program ever has.
    pub(crate) fn id(&self) -> u64 {
        self.inner.id
    }

    pub(crate) fn core(&self) -> &Core<M> {
        &self.inner.core
    }

    pub(crate) fn roots_of(&self) -> &Mutex<Roots> {
        &self.inner.roots
    }

    /// Whether this process may use the heap.
    ///
    /// # Errors
    ///
    /// It may not: the heap was closed, or another process has opened it.
    #[inline]
    pub(crate) fn expect_open(&self) -> Result<()> {
        let core = self.core();
        match core.is_closed() || core.space.pool.medium.is_child() {
            false => Ok(()),
            true => Err(self.why_not_open()),
        }
    }

    /// Whether this process has the pool's bytes.
    ///
    /// # Errors
    ///
    /// It is a child of the process that has opened it.
    pub(crate) fn expect_not_child(&self) -> Result<()> {
        match self.medium().is_child() {
            false => Ok(()),
            true => Err(self.why_not_open()),
        }
    }

    #[cold]
    fn why_not_open(&self) -> Error {
        match self.medium().is_child() {
            false => Error::closed(),
            true => Error::usage(
                "the heap belongs to the parent of this process; open the pool again here when the \
                 parent has closed it",
            ),
        }
    }

    /// The state of the container whose root lies there, which all its handles share; it is made if
    /// none is open.
    ///
    /// # Errors
    ///
    /// What `make` returns.
    pub(crate) fn share<S: Any + Send + Sync>(
        &self,
        root: u64,
        make: impl FnOnce() -> Result<S>,
    ) -> Result<Arc<S>> {
        let mut open = lock(&self.inner.open);
        if self.core().space.pool.medium.load_word(root) == 0 {
            // The container that was open there was freed through its root.
            open.forget(root);
        }
        open.share(root, make)
    }

    /// Carries out one operation under a guard.
    ///
    /// # Errors
    ///
    /// What `work` returns; there is no room, or a fence failed.
    #[inline]
    pub(crate) fn operate<R>(
        &self,
        guard: &mut Inside,
        mut work: impl FnMut(&mut Operation<M>) -> Result<R>,
    ) -> Result<R> {
        let core = self.core();
        core.with_room(|| {
            let mut operation = Operation::begin(core, guard.last)?;
            let done = work(&mut operation)?;
            guard.last = operation.commit()?.or(guard.last);
            Ok(done)
        })
    }

    /// The object to which a root points; if it is null, one that is made now, by the operation that is
    /// returned.
    ///
    /// # Errors
    ///
    /// What `make` returns; there is no room, or a fence failed.
    pub(crate) fn find_or_make<T: 'static>(
        &self,
        root: Place<T>,
        make: impl Fn(&mut Operation<M>) -> Result<u64>,
    ) -> Result<(u64, Option<Stamp>)> {
        let found = self.read(root)?;
        if !found.is_null() {
            return Ok((found.offset(), None));
        }
        let core = self.core();
        core.with_room(|| {
            let mut operation = Operation::begin(core, None)?;
            operation.own(&[Range::word(root.offset())])?;
            let at = make(&mut operation)?;
            operation.set(root.offset(), at)?;
            Ok((at, operation.commit()?))
        })
    }

    /// Has a root point to another object in place of an old one, which `convert` frees.
    ///
    /// # Errors
    ///
    /// What `convert` returns; there is no room, or a fence failed.
    pub(crate) fn convert<T: Pod>(
        &self,
        root: Place<T>,
        old: u64,
        convert: impl FnOnce(&mut &Transaction<M>, u64) -> Result<u64>,
    ) -> Result<(u64, Option<Stamp>)> {
        let tx = self.begin()?;
        let new = convert(&mut &tx, old)?;
        tx.write(root, &Ptr::at(new))?;
        tx.commit()?;
        // From here on no operation is in doubt, so no guard has to know of this one.
        self.core().lanes.settle(&self.core().space)?;
        Ok((new, None))
    }
}

impl<M: Medium> Drop for Inner<M> {
    /// Leaves nothing to be recovered. If it fails, the next to open the pool recovers it.
    fn drop(&mut self) {
        if !self.core.is_closed() && !self.core.space.pool.medium.is_child() {
            let _ = self.core.close();
        }
    }
}

/// Same as [`Heap::open_on`], for tests of this crate.
#[cfg(test)]
pub(crate) fn open_on<M: Medium>(medium: M) -> Result<Heap<M>> {
    Heap::open_pool(Pool::open(medium)?)
}

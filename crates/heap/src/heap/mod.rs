//! The heap's interface: creating, opening, growing and closing a pool.

mod shared;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::containers::compacting::Pass;
use crate::error::{Cause, Error, Result, ensure};
use crate::guard::{Inside, has_transaction};
use crate::lock::{lock, try_lock};
use crate::medium::mapped::Mode;
use crate::medium::{Counts, Kind, Mapped, Medium};
use crate::operation::{Core, Operation};
use crate::options::Options;
use crate::pool::Pool;
use crate::recovery;
use crate::root_table::Roots;
use crate::survey;
use shared::Open;

/// A persistent heap in a pool.
///
/// A clone is another handle of the same heap. The pool is closed when the last handle is dropped;
/// [`Heap::close`] reports whether closing succeeded. All methods can be called by any number of
/// threads. Containers synchronize their users themselves; objects that a program changes by their
/// pointers ([`Heap::set`]) need locks of the program's own.
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
    /// Held while a copy is made.
    copying: Mutex<()>,
    /// How far compaction is; held while it goes on.
    compacting: Mutex<Pass>,
    open: Mutex<Open>,
}

/// The room in a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Bytes of the pool.
    pub bytes: u64,
    /// Bytes of free chunks; chunks in use may have free slots besides.
    pub free: u64,
    /// Bytes of the longest row of free chunks.
    pub longest: u64,
}

impl<M: Medium> Clone for Heap<M> {
    fn clone(&self) -> Self {
        let inner = Arc::clone(&self.inner);
        Self { inner }
    }
}

impl Heap {
    /// Creates a pool of at least `bytes` bytes in a new file, detects what the file lies on
    /// ([`Heap::kind`]), and opens the heap in it. The file gets its name when the pool is whole,
    /// so a program that is killed meanwhile leaves nothing behind.
    ///
    /// # Errors
    ///
    /// The file exists, there is no room for it, or `bytes` are too few.
    pub fn create(path: impl AsRef<Path>, bytes: u64) -> Result<Self> {
        Self::create_with(path, bytes, Mode::Detected, &Options::default())
    }

    /// Same as [`Heap::create`], with a given mode and options.
    ///
    /// # Errors
    ///
    /// Same as [`Heap::create`]; the options are invalid.
    pub fn create_with(
        path: impl AsRef<Path>,
        bytes: u64,
        mode: Mode,
        options: &Options,
    ) -> Result<Self> {
        let medium = Mapped::create(path.as_ref(), bytes, mode)?;
        let geometry = options.geometry(medium.kind())?;
        let mut pool = Pool::create(medium, geometry)?;
        pool.medium.medium_mut().name()?;
        Self::open_pool(pool)
    }

    /// Opens the pool in a file, whatever state its last user left it in.
    ///
    /// # Errors
    ///
    /// The file holds no pool, the pool is damaged, or another program has it open; the file was
    /// copied from a pool that was open ([`Heap::copy`] makes copies that can be opened).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let medium = Mapped::open(path.as_ref(), Mode::Detected)?;
        Self::open_pool(survey::open_original(medium)?)
    }

    /// Opens the pool in a file for reading alone: the file need not be writable and stays as it
    /// is, and any number of programs may read it at the same time, while none has it open for
    /// writing. Calls that would change the pool fail. Recovery runs in private memory.
    ///
    /// # Errors
    ///
    /// Same as [`Heap::open`].
    pub fn open_read(path: impl AsRef<Path>) -> Result<Self> {
        let medium = Mapped::open(path.as_ref(), Mode::Private)?;
        let heap = Self::recover_pool(survey::open_original(medium)?)?;
        heap.core().read_only();
        Ok(heap)
    }

    /// Opens what was copied from an open pool, or was left by a crash, for reading alone: it may
    /// hold parts of changes. [`Heap::copy`] then makes a pool of it.
    ///
    /// # Errors
    ///
    /// Same as [`Heap::open_read`], but for copies.
    pub fn open_copied(path: impl AsRef<Path>) -> Result<Self> {
        Self::recovered(Mapped::open(path.as_ref(), Mode::Private)?)
    }

    /// Opens the pool in a file, or creates one of at least `bytes` bytes if the file does not
    /// exist.
    ///
    /// # Errors
    ///
    /// Same as [`Heap::open`] and [`Heap::create`].
    pub fn open_or_create(path: impl AsRef<Path>, bytes: u64) -> Result<Self> {
        let path = path.as_ref();
        match Self::create(path, bytes) {
            Err(error) if error.cause() == Cause::Usage && path.exists() => Self::open(path),
            made => made,
        }
    }

    /// Creates a heap in memory without a file, which is gone when it is closed: capacity only.
    ///
    /// # Errors
    ///
    /// There is not enough memory.
    pub fn anonymous(bytes: u64) -> Result<Self> {
        let medium = Mapped::anonymous(bytes)?;
        let geometry = Options::default().geometry(medium.kind())?;
        Self::open_pool(Pool::create(medium, geometry)?)
    }
}

impl<M: Medium> Heap<M> {
    /// Creates a pool on a medium that is all zeros.
    ///
    /// # Safety
    ///
    /// Nothing else stores to the medium while the heap is open.
    ///
    /// # Errors
    ///
    /// The options are invalid, the medium is too small, or a fence failed.
    pub unsafe fn create_on(medium: M, options: &Options) -> Result<Self> {
        Self::make_on(medium, options)
    }

    pub(crate) fn make_on(medium: M, options: &Options) -> Result<Self> {
        let geometry = options.geometry(medium.kind())?;
        Self::open_pool(Pool::create(medium, geometry)?)
    }

    /// Opens the pool on a medium, whatever state its last user left it in.
    ///
    /// # Safety
    ///
    /// Nothing else stores to the medium while the heap is open.
    ///
    /// # Errors
    ///
    /// The medium holds no pool, the pool is damaged, or a fence failed.
    pub unsafe fn open_on(medium: M) -> Result<Self> {
        Self::open_pool(survey::open_original(medium)?)
    }

    pub(crate) fn open_pool(pool: Pool<M>) -> Result<Self> {
        let heap = Self::recover_pool(pool)?;
        let space = &heap.core().space;
        space.pool.upgrade()?;
        space.pool.mark_opened(true)?;
        space.begin_journal()?;
        Ok(heap)
    }

    /// Opens the pool on a private medium for reading, even if it was copied while it was open.
    ///
    /// # Errors
    ///
    /// The pool is damaged, or has the format of a newer program.
    pub(crate) fn recovered(medium: M) -> Result<Self> {
        let heap = Self::recover_pool(survey::open(medium)?)?;
        heap.core().read_only();
        Ok(heap)
    }

    /// Opens a pool whose header stays as it is.
    fn recover_pool(pool: Pool<M>) -> Result<Self> {
        let (core, roots) = recovery::recover(pool)?;
        let roots = Mutex::new(Roots::read(&core.space, &roots)?);
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let inner = Inner {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            core,
            roots,
            growing: Mutex::default(),
            copying: Mutex::default(),
            compacting: Mutex::default(),
            open: Mutex::default(),
        };
        let heap = Self {
            inner: Arc::new(inner),
        };
        heap.finish_emptying()?;
        heap.core().space.pool.medium.expect_there()?;
        Ok(heap)
    }

    /// Closes the pool: everything is durable in its place, and nothing is left to recover. Other
    /// handles of the heap and its containers fail from now on. Dropping the last handle does the
    /// same, but cannot report a failure.
    ///
    /// # Errors
    ///
    /// The heap was closed already; this is a child of the process that opened the heap; or the
    /// pool could not be written, and is recovered when it is opened next.
    pub fn close(self) -> Result<()> {
        self.expect_open()?;
        self.core().close()
    }

    /// Grows the pool to at least `bytes` bytes.
    ///
    /// # Errors
    ///
    /// The medium cannot grow that far, or a fence failed.
    pub fn grow(&self, bytes: u64) -> Result<()> {
        self.expect_open()?;
        self.core().expect_writable()?;
        let _alone = lock(&self.inner.growing);
        let space = &self.core().space;
        let old = space.pool.chunks();
        space.pool.grow(bytes)?;
        recovery::free_between(space, old, space.pool.chunks(), &[]);
        Ok(())
    }

    /// Returns how much room the pool has.
    ///
    /// # Errors
    ///
    /// The heap was closed, or this is a child of the process that opened the heap.
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

    /// Returns the bytes of the pool.
    pub fn len(&self) -> u64 {
        let pool = &self.core().space.pool;
        pool.geometry.offset_of(pool.chunks())
    }

    /// Always false: a pool has at least its header.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Returns the counts of lines, fences, syncs and bytes since the pool was opened.
    pub fn counts(&self) -> Counts {
        self.core().space.pool.medium.counts()
    }

    /// Returns what kind of medium the pool lies on.
    pub fn kind(&self) -> Kind {
        self.medium().kind()
    }

    /// Returns whether the contents of the pool's containers have checksums
    /// ([`Options::checksums`](crate::Options::checksums)).
    pub fn checksums(&self) -> bool {
        self.core().space.pool.geometry.checksums
    }

    /// Returns the address of the pool's first byte, which stays the same while the heap is open.
    /// The methods that deal with addresses ([`Heap::persist`], [`Heap::capacity_alloc`]) say what
    /// may be done there.
    pub fn base(&self) -> *mut u8 {
        self.medium().base()
    }

    pub(crate) fn medium(&self) -> &M {
        self.core().space.pool.medium.medium()
    }

    /// Returns a number that no other heap of this program ever has.
    pub(crate) fn id(&self) -> u64 {
        self.inner.id
    }

    pub(crate) fn core(&self) -> &Core<M> {
        &self.inner.core
    }

    /// Keeps the pool from growing.
    pub(crate) fn hold_growth(&self) -> MutexGuard<'_, ()> {
        lock(&self.inner.growing)
    }

    /// Keeps other copies from being made.
    pub(crate) fn hold_copying(&self) -> MutexGuard<'_, ()> {
        lock(&self.inner.copying)
    }

    /// Keeps other threads from compacting the pool; returns how far that is.
    ///
    /// # Errors
    ///
    /// Another thread compacts the pool, and this one has a transaction of another heap under way,
    /// which must not wait.
    pub(crate) fn hold_compacting(&self) -> Result<MutexGuard<'_, Pass>> {
        match has_transaction() {
            false => Ok(lock(&self.inner.compacting)),
            true => try_lock(&self.inner.compacting).ok_or_else(Error::again),
        }
    }

    pub(crate) fn roots_of(&self) -> &Mutex<Roots> {
        &self.inner.roots
    }

    /// Checks that this process may use the heap.
    ///
    /// # Errors
    ///
    /// The heap was closed, or another process has opened it.
    #[inline]
    pub(crate) fn expect_open(&self) -> Result<()> {
        self.expect_not_child()?;
        ensure(!self.core().is_closed(), Error::closed)
    }

    /// Checks that this process has the pool's bytes.
    ///
    /// # Errors
    ///
    /// This is a child of the process that opened the heap.
    #[inline]
    pub(crate) fn expect_not_child(&self) -> Result<()> {
        ensure(!self.medium().is_child(), || {
            Error::usage(
                "the heap belongs to the parent of this process; open the pool again here when the \
                 parent has closed it",
            )
        })
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
            let done = work(&mut operation).and_then(|done| {
                guard.last = operation.commit()?.or(guard.last);
                Ok(done)
            });
            // An operation that changes nothing has no fence, and a missing page looks like damage.
            core.space.pool.medium.expect_there()?;
            done
        })
    }
}

impl<M: Medium> Drop for Inner<M> {
    /// Closes the pool, so that nothing is left to recover. If that fails, the pool is recovered
    /// when it is opened next.
    fn drop(&mut self) {
        if !self.core.is_closed() && !self.core.space.pool.medium.is_child() {
            let _ = self.core.close();
        }
    }
}

/// Same as [`Heap::open_on`], for tests of this crate.
#[cfg(test)]
pub(crate) fn open_on<M: Medium>(medium: M) -> Result<Heap<M>> {
    Heap::open_pool(survey::open_original(medium)?)
}

//! Containers as programs hold them, and as transactions open them.

use std::any::Any;
use std::ops::Deref;
use std::sync::Arc;

use bytemuck::Pod;

use crate::error::{Error, Result, ensure};
use crate::heap::Heap;
use crate::medium::Medium;
use crate::operation::Operation;
use crate::pool::Pool;
use crate::ptr::Place;
use crate::sink::Source;
use crate::transaction::Transaction;
use crate::transaction::held::Guarded;

use super::emptying::{Emptying, clear};

pub(super) mod sealed {
    /// Keeps other crates from writing containers.
    pub trait Sealed {}
}

/// A container that a transaction can open ([`Transaction::open`]).
pub trait Container<M: Medium>: sealed::Sealed {
    /// The container within a transaction.
    type Opened<'t>
    where
        Self: 't,
        M: 't;

    /// Returns the heap of the container.
    fn heap(&self) -> &Heap<M>;

    /// Returns what [`Transaction::open`] returns.
    ///
    /// # Errors
    ///
    /// Same as [`Transaction::open`].
    #[doc(hidden)]
    fn open_in<'t>(&'t self, tx: &'t Transaction<'_, M>) -> Result<Self::Opened<'t>>;
}

impl<'h, M: Medium> Transaction<'h, M> {
    /// Opens a container within this transaction: changes through it happen with the transaction,
    /// and reads see them before. No other thread uses the container, or the part of it that was
    /// used, until the transaction has ended.
    ///
    /// # Errors
    ///
    /// The container is of another heap; the transaction has ended; an older transaction holds the
    /// container ([`Cause::Again`](crate::Cause::Again)), and [`Heap::transaction`] tries again by
    /// itself when the closure returns.
    pub fn open<'t, C: Container<M>>(&'t self, container: &'t C) -> Result<C::Opened<'t>>
    where
        'h: 't,
    {
        ensure(container.heap().id() == self.heap().id(), || {
            Error::usage(
                "a transaction opens containers of its own heap, and this one is of another",
            )
        })?;
        container.open_in(self)
    }
}

/// The heap of a container, and its state `S` in DRAM, which all its handles share.
pub(super) struct Handle<S, M: Medium> {
    pub heap: Heap<M>,
    /// The word of the root.
    pub root: u64,
    state: Arc<S>,
}

impl<S, M: Medium> Clone for Handle<S, M> {
    fn clone(&self) -> Self {
        Self {
            heap: self.heap.clone(),
            root: self.root,
            state: Arc::clone(&self.state),
        }
    }
}

impl<S, M: Medium> Deref for Handle<S, M> {
    type Target = S;

    #[inline]
    fn deref(&self) -> &S {
        &self.state
    }
}

impl<S: Guarded<M> + Any, M: Medium> Handle<S, M> {
    /// Opens the container of a name, whose root points to a `T` and has a kind; `make` returns its
    /// state if no handle of it exists.
    ///
    /// # Errors
    ///
    /// What `make` returns; the root has another type or kind; this thread is within a transaction;
    /// the pool is full, or a fence failed.
    pub fn open<T: Pod>(
        heap: &Heap<M>,
        name: &str,
        kind: u16,
        make: impl FnOnce(Place<T>) -> Result<S>,
    ) -> Result<Self> {
        heap.expect_alone()?;
        let root = heap.root(name, kind)?;
        Ok(Self {
            heap: heap.clone(),
            root: root.offset(),
            state: heap.share(root.offset(), || make(root))?,
        })
    }

    /// Reads what is under a guard.
    ///
    /// # Errors
    ///
    /// What `work` returns; this thread is within a transaction of the heap, or of another one that
    /// must not wait for the guard.
    #[inline]
    pub fn read<R>(&self, number: usize, work: impl FnOnce(&Pool<M>) -> Result<R>) -> Result<R> {
        self.heap.expect_alone()?;
        let _reading = self.guard(number).read()?;
        let pool = &self.heap.core().space.pool;
        let done = work(pool);
        pool.medium.expect_there()?;
        done
    }

    /// Changes what is under guard 0 by one operation.
    ///
    /// # Errors
    ///
    /// Same as [`Handle::read`]; there is no room, or a fence failed.
    #[inline]
    pub fn write<R>(&self, work: impl Fn(&mut Operation<M>) -> Result<R>) -> Result<R> {
        self.write_counted(work, |_| 0)
    }

    /// Same as [`Handle::write`]; `added` returns how many entries the operation has added.
    ///
    /// # Errors
    ///
    /// Same as [`Handle::write`].
    #[inline]
    pub fn write_counted<R>(
        &self,
        work: impl Fn(&mut Operation<M>) -> Result<R>,
        added: impl FnOnce(&R) -> i64,
    ) -> Result<R> {
        self.heap.expect_alone()?;
        let mut writing = self.guard(0).write()?;
        let done = self.heap.operate(&mut writing, work)?;
        writing.added += added(&done);
        self.touch();
        Ok(done)
    }

    /// Removes all that a container of one guard holds. `emptied` is called with the elements that
    /// were added since the heap was opened.
    ///
    /// # Errors
    ///
    /// Same as [`Handle::write`].
    pub fn clear(&self, emptied: impl FnOnce(&S, i64)) -> Result<()>
    where
        S: Emptying,
    {
        self.heap.expect_alone()?;
        let mut writing = self.guard(0).write()?;
        let last = Vec::from_iter(writing.last);
        let (done, last) = clear(&self.heap, &*self.state, self.root, last);
        writing.last = last.or(writing.last);
        self.touch();
        done?;
        emptied(&self.state, writing.added);
        Ok(())
    }

    /// Returns what reads the container, within a transaction if one is given.
    pub fn reader<'c>(&'c self, tx: Option<&'c Transaction<'c, M>>) -> Reader<'c, S, M> {
        let (handle, pool) = (self, &self.heap.core().space.pool);
        Reader { handle, pool, tx }
    }

    /// Has a transaction hold a guard until it has ended.
    ///
    /// # Errors
    ///
    /// The transaction has ended, or an older one holds the guard.
    pub fn hold(&self, tx: &Transaction<'_, M>, number: usize) -> Result<()> {
        let of = || Arc::clone(&self.state) as Arc<dyn Guarded<M>>;
        tx.hold(self.guard(number), of, number)
    }

    /// Same as [`Handle::hold`], for a container of one guard; does nothing for others.
    ///
    /// # Errors
    ///
    /// Same as [`Handle::hold`].
    pub fn hold_whole(&self, tx: &Transaction<'_, M>) -> Result<()> {
        match self.has_one_guard() {
            true => self.hold(tx, 0),
            false => Ok(()),
        }
    }
}

/// What iterators and cursors read: a container part by part, under its guards, or as a transaction
/// sees it, which holds them.
pub(super) struct Reader<'c, S, M: Medium> {
    handle: &'c Handle<S, M>,
    pool: &'c Pool<M>,
    pub tx: Option<&'c Transaction<'c, M>>,
}

impl<S: Guarded<M> + Any, M: Medium> Reader<'_, S, M> {
    /// Reads what is under a guard.
    ///
    /// # Errors
    ///
    /// Same as [`Handle::read`].
    pub fn read<R>(&self, number: usize, work: impl FnOnce(&Self) -> Result<R>) -> Result<R> {
        match self.tx {
            Some(_) => work(self),
            None => self.handle.read(number, |_| work(self)),
        }
    }
}

impl<S, M: Medium> Deref for Reader<'_, S, M> {
    type Target = S;

    #[inline]
    fn deref(&self) -> &S {
        self.handle
    }
}

impl<S, M: Medium> Source for Reader<'_, S, M> {
    type Medium = M;

    #[inline]
    fn pool(&self) -> &Pool<M> {
        self.pool
    }

    #[inline]
    fn is_changed(&self) -> Result<bool> {
        self.tx.map_or(Ok(false), |tx| tx.is_changed())
    }

    #[inline]
    fn is_changed_at(&self, offset: u64, len: u64) -> Result<bool> {
        self.tx
            .map_or(Ok(false), |tx| tx.is_changed_at(offset, len))
    }

    #[inline]
    fn is_changed_near(&self, offset: u64, len: u64) -> bool {
        self.tx.is_some_and(|tx| tx.is_changed_near(offset, len))
    }

    fn overlay(&self, offset: u64, loaded: &mut [u64]) {
        if let Some(tx) = self.tx {
            tx.overlay(offset, loaded);
        }
    }
}

/// Makes a type a container, which can be cloned and opened in a transaction: the type and its
/// field with the [`Handle`], its parameters, their bounds, and their bounds in methods.
macro_rules! container {
    ($name:ident.$handle:ident, [$($param:ident),+], [$($any:tt)+], [$($bound:tt)+]) => {
        impl<$($any)+, M: Medium> Clone for $name<$($param,)+ M> {
            fn clone(&self) -> Self {
                let ($handle, of) = (self.$handle.clone(), std::marker::PhantomData);
                Self { $handle, of }
            }
        }

        impl<$($any)+, M: Medium> $crate::containers::container::sealed::Sealed
            for $name<$($param,)+ M> {}

        impl<$($bound)+, M: Medium> $crate::containers::Container<M> for $name<$($param,)+ M> {
            type Opened<'t> = Opened<'t, $($param,)+ M> where Self: 't, M: 't;

            fn heap(&self) -> &$crate::Heap<M> {
                &self.$handle.heap
            }

            fn open_in<'t>(
                &'t self,
                tx: &'t $crate::Transaction<'_, M>,
            ) -> $crate::Result<Self::Opened<'t>> {
                self.$handle.hold_whole(tx)?;
                Ok(Opened { of: self, tx })
            }
        }
    };
}
pub(super) use container;

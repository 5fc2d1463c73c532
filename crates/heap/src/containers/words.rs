//! Words of a pool, as they are or as a transaction sees them.

use bytemuck::Pod;

use crate::error::Result;
use crate::medium::Medium;
use crate::pool::Pool;
use crate::ptr::Ptr;
use crate::transaction::Transaction;

/// Where a container reads: all offsets are checked.
pub(super) trait Source {
    /// What lies at an offset.
    ///
    /// # Errors
    ///
    /// It is not wholly in the pool.
    fn get<T: Pod>(&self, offset: u64) -> Result<T>;
}

impl<M: Medium> Source for Pool<M> {
    #[inline]
    fn get<T: Pod>(&self, offset: u64) -> Result<T> {
        let bytes = size_of::<T>().next_multiple_of(8) as u64;
        self.check(offset, bytes, "a container")?;
        let mut value = T::zeroed();
        self.medium.load(offset, bytemuck::bytes_of_mut(&mut value));
        Ok(value)
    }
}

impl<M: Medium> Source for Transaction<'_, M> {
    fn get<T: Pod>(&self, offset: u64) -> Result<T> {
        self.read(Ptr::at(offset))
    }
}

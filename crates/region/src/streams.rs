//! The list of the C library's streams, whose lock a fork takes.
//!
//! `fork` takes the lock after the handlers of forks, when no thread serves faults. A thread that
//! holds it, as one in `fflush(NULL)`, may wait for a page of a stream's buffer meanwhile, and both
//! would wait for ever. So the lock is taken before the faults are no longer served. One thread may
//! take it more than once.

#[cfg(target_env = "gnu")]
mod library {
    unsafe extern "C" {
        pub safe fn _IO_list_lock();
        pub safe fn _IO_list_unlock();
        pub safe fn _IO_list_resetlock();
    }
}

/// Waits until no other thread goes through the list, and keeps them from it.
pub fn lock() {
    #[cfg(target_env = "gnu")]
    library::_IO_list_lock();
}

/// Takes [`lock`] back, in the process that has taken it.
pub fn unlock() {
    #[cfg(target_env = "gnu")]
    library::_IO_list_unlock();
}

/// Makes the lock free in a forked child, whose only thread this is.
pub fn make_free() {
    #[cfg(target_env = "gnu")]
    library::_IO_list_resetlock();
}

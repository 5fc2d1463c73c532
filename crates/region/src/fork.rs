//! Forks of the process: its extended memory is followed into children.
//!
//! A fork copies the pages in DRAM, the staging range, the pager and what it knows, as the kernel
//! copies all memory. So while a process forks its pagers rest, with no transfer under way, and go
//! on in both processes, each for itself.

use std::cell::UnsafeCell;
use std::sync::{Arc, Mutex, MutexGuard, Once, Weak};

use terrace_base::lock;

use crate::side::Side;
use crate::signals::{block_signals, restore_signals};
use crate::streams;
use crate::thread::{Resting, Server};

/// The servers of this process; some may have ended.
static SERVERS: Mutex<Vec<Weak<Server>>> = Mutex::new(Vec::new());

/// What is kept between the handlers of a fork.
static FORK: Cell = Cell(UnsafeCell::new(None));

struct Cell(UnsafeCell<Option<Fork>>);

// SAFETY: only the thread that holds the lock of `SERVERS` looks at it, from before a fork to after
// it.
unsafe impl Sync for Cell {}

/// A fork that is under way. Fields are dropped in this order.
struct Fork {
    /// They borrow from `servers`.
    resting: Vec<Resting<'static>>,
    servers: Vec<Arc<Server>>,
    list: MutexGuard<'static, Vec<Weak<Server>>>,
    signals: libc::sigset_t,
}

/// Follows forks from now on. Handlers that are registered after this one may touch extended
/// memory; those before it may not.
pub fn watch() {
    static ONCE: Once = Once::new();
    // SAFETY: the handlers are functions of this program, and stay.
    ONCE.call_once(|| unsafe {
        libc::pthread_atfork(Some(before), Some(after_in_parent), Some(after_in_child));
    });
}

/// Adds a server, which is to be followed.
pub(crate) fn follow(server: &Arc<Server>) {
    watch();
    let mut servers = lock(&SERVERS);
    servers.retain(|server| server.strong_count() > 0);
    servers.push(Arc::downgrade(server));
}

extern "C" fn before() {
    // A handler of a signal could touch memory that no thread serves.
    let signals = block_signals();
    streams::lock();
    let list = lock(&SERVERS);
    let servers: Vec<_> = list.iter().filter_map(Weak::upgrade).collect();
    let rest = |server: &Arc<Server>| {
        // SAFETY: the server lives as long as the fork, and is dropped after what borrows from it.
        let server: &'static Server = unsafe { &*Arc::as_ptr(server) };
        server.rest()
    };
    let fork = Fork {
        resting: servers.iter().map(rest).collect(),
        servers,
        list,
        signals,
    };
    // SAFETY: this thread holds the lock.
    unsafe { *FORK.0.get() = Some(fork) };
}

extern "C" fn after_in_parent() {
    after(Side::Parent);
}

extern "C" fn after_in_child() {
    after(Side::Child);
}

fn after(side: Side) {
    // SAFETY: this thread, or the one that has forked this process, holds the lock.
    let fork = unsafe { (*FORK.0.get()).take() };
    let Some(fork) = fork else {
        return;
    };
    let Fork {
        resting,
        servers,
        list,
        signals,
    } = fork;
    resting.into_iter().for_each(|resting| resting.go_on(side));
    drop(list);
    drop(servers);
    match side {
        Side::Parent => streams::unlock(),
        Side::Child => streams::make_free(),
    }
    restore_signals(&signals);
}

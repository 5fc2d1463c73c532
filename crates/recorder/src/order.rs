//! What orders the threads of a program: a thread is created, waits, and is woken.
//!
//! An [`Event`] is told between two accesses of a thread. What a thread has done before it
//! *releases* a point comes before all that another does after it *acquires* the point (C11,
//! 5.1.2.4). The points:
//!
//! | released | acquired |
//! |---|---|
//! | a thread or process is created | before its first access |
//! | futex(2) wakes at an address | where a wait at the address has ended |
//! | a thread ends: its number is cleared in memory, and a join wakes (CLONE_CHILD_CLEARTID) | where the wait has ended, where the stack gets a new thread, and at the end of the process |
//!
//! A join of a thread that has ended before makes no system call, and is not seen. Neither is
//! waiting for anything but a futex: by looking at memory again and again, for a file, a signal,
//! time or the end of a process.

use std::collections::HashMap;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// A point in the execution of a thread: no other point of the recording has its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Point(pub u64);

/// The bit of the numbers of points at which threads or processes are created: a process has less
/// than 2^31 points.
const CREATION: u64 = 1 << 31;

impl Point {
    /// Returns the point as one at which a thread or process is created, which acquires it before
    /// its first access.
    pub const fn of_creation(self) -> Self {
        Self(self.0 | CREATION)
    }

    /// Whether a thread or process is created there; recordings of earlier versions do not say so.
    pub const fn is_creation(self) -> bool {
        self.0 & CREATION != 0
    }
}

/// An event that orders threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// What the thread has done so far comes before what follows where the point is acquired.
    Release(Point),
    /// What the thread does from now on comes after what precedes the release of the point.
    Acquire(Point),
}

/// What a system call means for the order of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncCall {
    /// It creates a thread or a process. A thread's number is cleared at this address when it ends;
    /// 0 if it is not.
    Create {
        /// The address.
        cleared: u64,
    },
    /// It wakes threads that wait at these addresses; the second may be the first.
    Wake([u64; 2]),
    /// It waits at an address.
    Wait(u64),
}

impl SyncCall {
    /// Returns the meaning of a system call by its number and its first five arguments; none for
    /// most.
    pub fn of(number: i64, [a, b, _, d, e]: [u64; 5]) -> Option<Self> {
        let (vm, vfork) = (libc::CLONE_VM as u64, libc::CLONE_VFORK as u64);
        match number {
            libc::SYS_clone if a & (vm | vfork) == vm => Some(Self::Create {
                cleared: match a & libc::CLONE_CHILD_CLEARTID as u64 {
                    0 => 0,
                    _ => d,
                },
            }),
            libc::SYS_clone | libc::SYS_fork | libc::SYS_vfork => Some(Self::Create { cleared: 0 }),
            libc::SYS_futex => Self::of_futex(b as i32 & libc::FUTEX_CMD_MASK, a, e),
            _ => None,
        }
    }

    fn of_futex(command: i32, address: u64, other: u64) -> Option<Self> {
        match command {
            libc::FUTEX_WAIT
            | libc::FUTEX_WAIT_BITSET
            | libc::FUTEX_LOCK_PI
            | libc::FUTEX_LOCK_PI2
            | libc::FUTEX_WAIT_REQUEUE_PI => Some(Self::Wait(address)),
            libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET | libc::FUTEX_UNLOCK_PI => {
                Some(Self::Wake([address; 2]))
            }
            // Those that are moved wait at the other address from then on.
            libc::FUTEX_WAKE_OP
            | libc::FUTEX_REQUEUE
            | libc::FUTEX_CMP_REQUEUE
            | libc::FUTEX_CMP_REQUEUE_PI => Some(Self::Wake([address, other])),
            _ => None,
        }
    }
}

/// Whether a wait with this result came after a wake: it was woken, or the value was another
/// already.
pub fn was_woken(result: i64) -> bool {
    result == 0 || result == -i64::from(libc::EAGAIN)
}

/// The points of a process.
#[derive(Debug)]
pub struct Order {
    /// The process's number.
    process: AtomicU32,
    /// Points so far.
    points: AtomicU32,
    /// The creation that was released last, and the address that is cleared when that thread ends.
    /// Two threads that create threads at the same moment may find each other's: both are of that
    /// moment.
    created: [AtomicU64; 2],
    /// What is known by address. A forked child takes a new one, as a thread that does not live
    /// there may hold the lock of the old.
    known: AtomicPtr<Mutex<Known>>,
}

#[derive(Debug, Default)]
struct Known {
    /// The last release at an address.
    released: HashMap<u64, Point>,
    /// The ends of threads that nothing has come after.
    ended: Vec<Point>,
}

/// The number of no point.
const NO_POINT: u64 = u64::MAX;

impl Order {
    /// Begins the order of a process.
    pub fn new(process: u32) -> Self {
        let order = Self {
            process: AtomicU32::new(process),
            points: AtomicU32::new(0),
            created: [const { AtomicU64::new(NO_POINT) }; 2],
            known: AtomicPtr::default(),
        };
        order.begin(process);
        order
    }

    /// Begins anew in a forked child, which knows the creation of itself.
    pub fn begin(&self, process: u32) {
        self.process.store(process, Ordering::Relaxed);
        let known: &'static Mutex<Known> = Box::leak(Box::default());
        let known = std::ptr::from_ref(known).cast_mut();
        self.known.store(known, Ordering::Release);
    }

    fn with<T>(&self, what: impl FnOnce(&mut Known) -> T) -> T {
        // SAFETY: `begin` has stored a pointer to memory that is never freed, and that is only read
        // as shared.
        let known = unsafe { &*self.known.load(Ordering::Acquire) };
        what(&mut known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn point(&self) -> Point {
        let number = self.points.fetch_add(1, Ordering::Relaxed);
        let process = self.process.load(Ordering::Relaxed);
        Point(u64::from(process) << 32 | u64::from(number))
    }

    /// Returns what a thread tells before it creates another or a process; `cleared` is the address
    /// that is cleared when that ends. Where a thread had it before, its stack is free, so it has
    /// ended.
    pub fn create(&self, cleared: u64) -> impl Iterator<Item = Event> {
        let before = self.with(|known| {
            let before = known.released.remove(&cleared);
            known.ended.retain(|ended| Some(*ended) != before);
            before
        });
        let point = self.point().of_creation();
        self.created[1].store(cleared, Ordering::Relaxed);
        self.created[0].store(point.0, Ordering::Release);
        let before = before.map(Event::Acquire);
        before.into_iter().chain([Event::Release(point)])
    }

    /// Returns what a thread or process tells before its first access, and the address that is
    /// cleared when it ends, 0 if there is none.
    pub fn begun(&self) -> Option<(Event, u64)> {
        let point = self.created[0].load(Ordering::Acquire);
        let cleared = self.created[1].load(Ordering::Relaxed);
        (point != NO_POINT).then_some((Event::Acquire(Point(point)), cleared))
    }

    /// Returns what a thread tells before it wakes others at these addresses.
    pub fn wake(&self, addresses: [u64; 2]) -> Event {
        let point = self.point();
        self.with(|known| {
            for address in addresses {
                known.released.insert(address, point);
            }
        });
        Event::Release(point)
    }

    /// Returns what a thread tells after it was woken at an address.
    pub fn woken(&self, address: u64) -> Option<Event> {
        let point = self.with(|known| known.released.get(&address).copied());
        point.map(Event::Acquire)
    }

    /// Returns what a thread tells before it ends, whose number is cleared at this address.
    pub fn end_thread(&self, cleared: u64) -> Event {
        let point = self.point();
        self.with(|known| {
            known.released.insert(cleared, point);
            known.ended.push(point);
        });
        Event::Release(point)
    }

    /// Returns what a thread tells before it ends the process: the threads that have ended come
    /// before.
    pub fn end_process(&self) -> Vec<Event> {
        let ended = self.with(|known| std::mem::take(&mut known.ended));
        ended.into_iter().map(Event::Acquire).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(event: Option<Event>) -> Option<u64> {
        event.map(|event| match event {
            Event::Release(Point(point)) | Event::Acquire(Point(point)) => point,
        })
    }

    #[test]
    fn system_calls_have_their_meaning() {
        let of = |number, arguments| SyncCall::of(number, arguments);
        // As glibc starts a thread, and as `fork` and `posix_spawn` start processes.
        let cleared = 0x7000;
        assert_eq!(
            of(libc::SYS_clone, [0x3d_0f00, 1, 2, cleared, 3]),
            Some(SyncCall::Create { cleared })
        );
        let fork = (libc::CLONE_CHILD_CLEARTID | libc::CLONE_CHILD_SETTID | libc::SIGCHLD) as u64;
        assert_eq!(
            of(libc::SYS_clone, [fork, 0, 0, 5, 0]),
            Some(SyncCall::Create { cleared: 0 })
        );
        let spawn = (libc::CLONE_VM | libc::CLONE_VFORK) as u64;
        assert_eq!(
            of(libc::SYS_clone, [spawn, 0, 0, 5, 0]),
            Some(SyncCall::Create { cleared: 0 })
        );
        let futex = |command: i32| of(libc::SYS_futex, [8, command as u64, 1, 0, 16]);
        let private = libc::FUTEX_PRIVATE_FLAG;
        assert_eq!(futex(libc::FUTEX_WAIT | private), Some(SyncCall::Wait(8)));
        let clock = libc::FUTEX_CLOCK_REALTIME;
        assert_eq!(
            futex(libc::FUTEX_WAIT_BITSET | clock),
            Some(SyncCall::Wait(8))
        );
        assert_eq!(futex(libc::FUTEX_WAKE), Some(SyncCall::Wake([8; 2])));
        assert_eq!(
            futex(libc::FUTEX_CMP_REQUEUE),
            Some(SyncCall::Wake([8, 16]))
        );
        assert_eq!(of(libc::SYS_read, [0; 5]), None);
    }

    #[test]
    fn who_is_woken_comes_after_the_last_wake() {
        let order = Order::new(3);
        assert_eq!(order.woken(8), None);
        let first = point(Some(order.wake([8; 2])));
        let last = order.wake([8, 16]);
        assert_ne!(first, point(Some(last)));
        assert_eq!(point(order.woken(8)), point(Some(last)));
        assert_eq!(point(order.woken(16)), point(Some(last)));
        assert_eq!(point(Some(last)).map(|point| point >> 32), Some(3));
    }

    #[test]
    fn a_stack_is_used_again_after_its_thread_has_ended() {
        let order = Order::new(0);
        assert_eq!(order.begun(), None, "the first thread");
        let created: Vec<_> = order.create(64).collect();
        let Some((begun, 64)) = order.begun() else {
            panic!("it was created")
        };
        assert_eq!(point(Some(begun)), point(created.first().copied()));
        let Event::Acquire(creation) = begun else {
            panic!("it acquires")
        };
        assert!(creation.is_creation());
        let end = order.end_thread(64);
        assert!(matches!(end, Event::Release(point) if !point.is_creation()));
        let again: Vec<_> = order.create(64).collect();
        assert_eq!(again.len(), 2);
        assert_eq!(point(Some(again[0])), point(Some(end)));
        assert!(order.end_process().is_empty(), "the end was acquired");
        let end = order.end_thread(64);
        let all = order.end_process();
        assert_eq!(all.len(), 1);
        assert_eq!(point(all.first().copied()), point(Some(end)));
    }

    #[test]
    fn a_forked_child_knows_its_creation_and_nothing_else() {
        let order = Order::new(0);
        let wake = order.wake([8; 2]);
        let created = order.create(0).last();
        order.begin(1);
        assert_eq!(order.woken(8), None);
        let begun = order.begun().map(|(event, _)| event);
        assert_eq!(point(begun), point(created));
        assert_ne!(point(Some(wake)), point(Some(order.wake([8; 2]))));
    }
}

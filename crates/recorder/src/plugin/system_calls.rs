//! System calls of the program: what they mean for mappings, for the order of threads and for
//! processes.

use std::ffi::c_uint;
use std::sync::atomic::Ordering;

use terrace_preload_protocol::report;

use super::{RECORDER, Recorder, THREADED, Vcpu, follow_creation, note_change, share, vcpu};
use crate::allocation::Event;
use crate::call::Call;
use crate::discard;
use crate::exec;
use crate::order::{self, Order, SyncCall};
use crate::qemu;

/// Whether QEMU begins to generate code for several threads at a system call with these first and
/// fourth arguments, if it has not yet: where a thread starts, and where memory is shared
/// (linux-user/mmap.c and syscall.c). It refuses `clone3`, and treats `vfork` as a fork.
fn goes_parallel(number: i64, first: u64, fourth: u64) -> bool {
    let (vm, vfork) = (libc::CLONE_VM as u64, libc::CLONE_VFORK as u64);
    match number {
        libc::SYS_clone => first & (vm | vfork) == vm,
        libc::SYS_mmap => fourth & libc::MAP_SHARED as u64 != 0,
        libc::SYS_shmat => true,
        _ => false,
    }
}

/// Whether one of these system calls has memory of which other processes may write to, given its
/// third argument. What cannot be written to changes by files alone.
fn shares_with_processes(number: i64, third: u64) -> bool {
    match number {
        libc::SYS_clone => false,
        libc::SYS_mmap => third & libc::PROT_WRITE as u64 != 0,
        _ => true,
    }
}

pub(super) unsafe extern "C" fn on_syscall(
    _id: qemu::Id,
    index: c_uint,
    number: i64,
    a: u64,
    b: u64,
    c: u64,
    d: u64,
    e: u64,
    _: u64,
    _: u64,
    _: u64,
) {
    if goes_parallel(number, a, d) {
        // Before QEMU lets a thread run, and before it translates everything anew, for the last
        // time: `on_thread` is called only when the thread runs, and what was translated until then
        // would have all threads add to the count of the first.
        THREADED.store(true, Ordering::Relaxed);
        if shares_with_processes(number, c) {
            share();
        }
    }
    let Some(recorder) = RECORDER.get() else {
        return;
    };
    // SAFETY: called by this vCPU.
    let Some(vcpu) = (unsafe { vcpu(index) }) else {
        return;
    };
    if number == report::NUMBER {
        note(recorder, vcpu, [a, b, c, d, e]);
        return;
    }
    // Code that is mapped now may lie where other code was.
    if number == libc::SYS_mmap
        && c & libc::PROT_EXEC as u64 != 0
        && let Some(modules) = &recorder.modules
    {
        modules.forget();
    }
    // The call may unmap or change the page, or be the thread's last.
    vcpu.stream.end_run();
    note_change();
    vcpu.remapping = Call::of(number, [a, b, c, d, e]);
    if let (Some(call), Some(extended)) = (&vcpu.remapping, &recorder.extended) {
        extended.begin(call);
    }
    vcpu.syncing = SyncCall::of(number, [a, b, c, d, e]);
    before_sync(&recorder.order, vcpu);
    if number == libc::SYS_exit && vcpu.cleared != 0 {
        vcpu.stream.order(recorder.order.end_thread(vcpu.cleared));
        vcpu.stream.publish();
    }
    if ends_the_process(number) {
        for event in recorder.order.end_process() {
            vcpu.stream.order(event);
        }
        vcpu.stream.discard(&discard::ALL);
        vcpu.stream.publish();
    }
    let Some(request) = exec::Request::of(number, [a, b, c, d, e]) else {
        return;
    };
    vcpu.stream.publish();
    if let Some(follower) = &recorder.follower
        && !recorder.pool.has_ended()
    {
        follower.follow(&request, || {
            vcpu.stream.discard(&discard::ALL);
            vcpu.stream.publish();
        });
    }
    vcpu.departing = Some(recorder.pool.depart(&request.path()));
}

/// Tells how a thread is ordered with others before the system call that it makes. What it has done
/// so far is handed over: a release is read before what comes after it, and while the thread waits
/// the rest can be simulated.
fn before_sync(order: &Order, vcpu: &mut Vcpu) {
    match vcpu.syncing {
        Some(SyncCall::Create { cleared }) => {
            for event in order.create(cleared) {
                vcpu.stream.order(event);
            }
        }
        Some(SyncCall::Wake(addresses)) => vcpu.stream.order(order.wake(addresses)),
        Some(SyncCall::Wait(_)) => {}
        None => return,
    }
    vcpu.stream.publish();
}

/// Notes what the library in the program tells of allocations.
fn note(recorder: &Recorder, vcpu: &mut Vcpu, arguments: [u64; 5]) {
    let Some(modules) = &recorder.modules else {
        return;
    };
    let Some(event) = modules.event(recorder.pool, arguments) else {
        return;
    };
    if event == Event::Begin {
        vcpu.muted = Some(vcpu.executed);
        return;
    }
    if let Some(before) = vcpu.muted.take() {
        vcpu.executed = before;
    }
    match event {
        Event::Begin => {}
        Event::Allocated {
            address,
            bytes,
            stack,
        } => vcpu.stream.allocate(address, bytes, &stack),
        Event::Freed(address) => vcpu.stream.free(address),
    }
}

/// Whether a system call may make a process, in which it returns 0.
fn is_fork(number: i64) -> bool {
    matches!(number, libc::SYS_clone | libc::SYS_fork | libc::SYS_vfork)
}

/// Whether a system call ends the process, and its memory with it.
fn ends_the_process(number: i64) -> bool {
    match number {
        libc::SYS_exit_group => true,
        libc::SYS_exit => !THREADED.load(Ordering::Relaxed),
        _ => false,
    }
}

pub(super) unsafe extern "C" fn on_syscall_return(
    _id: qemu::Id,
    index: c_uint,
    number: i64,
    result: i64,
) {
    let executes = matches!(number, libc::SYS_execve | libc::SYS_execveat);
    // SAFETY: called by this vCPU.
    let Some(vcpu) = (unsafe { vcpu(index) }) else {
        return;
    };
    let Some(recorder) = RECORDER.get() else {
        return;
    };
    // What it stored other threads may have touched before; this one has touched nothing since.
    if THREADED.load(Ordering::Relaxed) {
        note_change();
    }
    match vcpu.syncing.take() {
        Some(SyncCall::Wait(address)) if order::was_woken(result) => {
            if let Some(event) = recorder.order.woken(address) {
                vcpu.stream.order(event);
            }
        }
        _ => {}
    }
    if is_fork(number) && result == 0 {
        follow_creation(index);
    }
    if let Some(call) = vcpu.remapping.take() {
        if let Some(extended) = &recorder.extended {
            extended.end(&call, result);
        }
        for pages in recorder.heap.given_back(&call, result) {
            vcpu.stream.discard(&pages);
        }
    }
    if executes && let Some(departed) = vcpu.departing.take() {
        recorder.pool.stay(departed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_known_before_it_runs() {
        let (vm, vfork) = (libc::CLONE_VM as u64, libc::CLONE_VFORK as u64);
        // As glibc starts threads, and as `posix_spawn` and `fork` start processes.
        assert!(goes_parallel(libc::SYS_clone, 0x3d_0f00, 0));
        assert!(!goes_parallel(libc::SYS_clone, vm | vfork, 0));
        assert!(!goes_parallel(libc::SYS_clone, libc::SIGCHLD as u64, 0));
        assert!(!goes_parallel(libc::SYS_read, vm, 1));
        let map = |flags: i32| goes_parallel(libc::SYS_mmap, 0, flags as u64);
        assert!(map(libc::MAP_SHARED | libc::MAP_ANONYMOUS) && map(libc::MAP_SHARED_VALIDATE));
        assert!(!map(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS));
    }
}

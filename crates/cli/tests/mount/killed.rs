//! A mount that is killed while one of its threads waits for the mount itself.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// Whether all threads of a process have stopped.
fn are_stopped(process: u32) -> bool {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    tasks.flatten().all(|task| {
        let status = fs::read_to_string(task.path().join("status"));
        status.is_ok_and(|status| status.contains("State:\tT"))
    })
}

/// The process has the kernel forget pages, and the kernel waits for one that another thread would
/// bring, which is killed: the thread that waits cannot be, and the mount would hang for ever.
#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn a_mount_that_is_killed_while_it_waits_for_itself_ends() {
    let (slow, place) = (Place::new(), Place::new());
    slow.file("a", MIB);
    let below = slow.mount(&[]);
    let (source, mounted) = (slow.text("mounted"), place.text("mounted"));
    let (flash, size) = (place.text("flash"), "64M");
    let words = [
        "mount", "-q", "--flash", &flash, "--size", size, &source, &mounted,
    ];
    let mut above = place.command(&words).spawn().unwrap();
    wait_for("the mount", || place.is_mounted());
    let file = File::open(place.path("mounted").join("a")).unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random).unwrap();
    let page = |number: u64| file.read_at(&mut [0; 4096], number * 4096);
    let has_read = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // A file that changes all the time, so that the kernel is told to forget what it was given.
        scope.spawn(|| {
            let path = slow.path("mounted").join("a");
            let writer = File::options().write(true).open(path).unwrap();
            while !has_read.load(Ordering::Relaxed) {
                writer.write_all_at(b"x", 200 * 4096).unwrap();
            }
        });
        page(0).unwrap();
        has_read.store(true, Ordering::Relaxed);
        let stopped = Pid::from_child(&below.child);
        kill_process(stopped, Signal::STOP).unwrap();
        // A thread that the signal has not reached yet would serve the reader.
        wait_for("all threads to stop", || are_stopped(below.child.id()));
        let reader = scope.spawn(|| page(100));
        std::thread::sleep(Duration::from_millis(1500));
        above.kill().unwrap();
        // The kernel waits for a request that the stopped one had taken, whatever becomes of the
        // process.
        let is_ended = (0..100).any(|_| {
            std::thread::sleep(Duration::from_millis(100));
            above.try_wait().unwrap().is_some()
        });
        if !is_ended {
            kill_process(stopped, Signal::CONT).unwrap();
        }
        above.wait().unwrap();
        assert!(reader.join().unwrap().is_err());
        kill_process(stopped, Signal::CONT).unwrap();
    });
    wait_for("the end of the mount", || !place.is_mounted());
    below.end(Signal::TERM);
}

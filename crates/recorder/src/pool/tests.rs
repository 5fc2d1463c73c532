//! The pool over threads and processes.

use super::*;
use crate::record::{Kind, Said};
use std::thread;
use std::time::{Duration, Instant};

const PLAIN: RecordSettings = RecordSettings {
    level: Level::Accesses,
    filtered: false,
    contents: false,
    least_mapping: None,
    allocations: false,
    depends: false,
};
const ME: Owner = Owner {
    process: 0,
    thread: 0,
    instruction: 0,
};

fn record(address: u64) -> Record {
    Record::access(address, Kind::new(8, false), 0, 1)
}

fn addresses(chunk: &Chunk) -> Vec<u64> {
    let address = |record: Record| match record.said() {
        Said::Access { address, .. } => Some(address),
        _ => None,
    };
    chunk.records().filter_map(address).collect()
}

/// Writes `count` records whose addresses count up, and publishes what is full.
fn write(pool: &Pool, thread: u32, count: u64) {
    let owner = Owner { thread, ..ME };
    let mut chunk = pool.none();
    for address in 0..count {
        if !chunk.push(record(address)) {
            pool.publish(chunk);
            chunk = pool.take(owner).unwrap();
            assert!(chunk.push(record(address)));
        }
    }
    pool.publish(chunk);
}

#[test]
fn another_mapping_sees_the_same() {
    let settings = RecordSettings {
        level: Level::Pages,
        filtered: true,
        contents: true,
        least_mapping: Some(1 << 33),
        allocations: true,
        depends: true,
    };
    let reader = Pool::create(settings).unwrap();
    let writer = Pool::open(&reader.path().unwrap()).unwrap();
    assert_eq!(writer.settings(), settings);
    assert_eq!((writer.enter(), writer.enter()), (0, 1));
    assert_eq!((writer.new_thread(), writer.new_thread()), (0, 1));
    assert_eq!((reader.processes(), reader.threads()), (2, 2));
    let module = |path: &str| writer.module(std::path::Path::new(path));
    let numbers = ["/a", "/b", "/a"].map(module);
    assert_eq!(numbers, [Some(0), Some(1), Some(0)]);
    assert_eq!(reader.module_path(1), Some(b"/b".to_vec()));
    assert_eq!(
        (reader.module_path(2), reader.module_path(u16::MAX)),
        (None, None)
    );
    write(&writer, 0, 10);
    let ready = reader.ready();
    assert_eq!(ready.len(), 1);
    let expected: Vec<u64> = (0..10).collect();
    assert_eq!(addresses(reader.chunk(ready[0])), expected);
}

#[test]
fn a_file_that_is_no_pool_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    let refused = |path| Pool::open(path).unwrap_err().to_string();
    assert!(refused(path).contains("size"));
    file.as_file().set_len(size_of::<Layout>() as u64).unwrap();
    assert!(refused(path).contains("version"));
    assert!(Pool::open("/no/such/file").is_err());
}

#[test]
fn threads_lose_nothing_and_wait_for_the_reader() {
    const THREADS: usize = 4;
    const EACH: u64 = 60 * RECORDS as u64 + 17;
    let pool = Pool::create(PLAIN).unwrap();
    let mut seen = vec![0; THREADS];
    thread::scope(|scope| {
        let writers: Vec<_> = (0..THREADS)
            .map(|thread| {
                scope.spawn({
                    let pool = &pool;
                    move || write(pool, thread as u32, EACH)
                })
            })
            .collect();
        let mut published = 0;
        loop {
            let ended = writers.iter().all(|writer| writer.is_finished());
            let ready = pool.ready();
            assert!(ready.len() <= READY_CHUNKS as usize + THREADS);
            for index in ready {
                let chunk = pool.chunk(index);
                let next = &mut seen[chunk.thread() as usize];
                for address in addresses(chunk) {
                    assert_eq!(address, *next);
                    *next += 1;
                }
                pool.release(index);
            }
            if ended {
                break;
            }
            published = pool.wait(published, Duration::from_millis(1));
        }
    });
    assert_eq!(seen, [EACH; THREADS]);
}

/// Takes, fills with its number and publishes chunk after chunk.
fn publish_singly(pool: &Pool, thread: u32, chunks: u64) {
    for number in 0..chunks {
        let chunk = pool.take(Owner { thread, ..ME }).unwrap();
        assert!(chunk.push(record(number)));
        pool.publish(chunk);
    }
}

#[test]
fn chunks_published_while_the_reader_looks_stay_in_order() {
    const CHUNKS: u64 = 30_000;
    let pool = Pool::create(PLAIN).unwrap();
    let mut seen = [Vec::new(), Vec::new()];
    thread::scope(|scope| {
        for thread in 0..2 {
            let pool = &pool;
            scope.spawn(move || publish_singly(pool, thread, CHUNKS));
        }
        while seen.iter().map(Vec::len).sum::<usize>() < 2 * CHUNKS as usize {
            for index in pool.ready() {
                let chunk = pool.chunk(index);
                seen[chunk.thread() as usize].extend(addresses(chunk));
                pool.release(index);
            }
        }
    });
    for numbers in seen {
        assert!(numbers.into_iter().eq(0..CHUNKS));
    }
}

#[test]
fn the_end_frees_writers_that_wait() {
    let pool = Pool::create(PLAIN).unwrap();
    write(&pool, 0, (READY_CHUNKS as usize * RECORDS) as u64);
    thread::scope(|scope| {
        let writer = scope.spawn(|| pool.take(ME).is_none());
        thread::sleep(Duration::from_millis(50));
        assert!(!writer.is_finished());
        pool.end();
        assert!(writer.join().unwrap());
    });
}

#[test]
fn the_reader_is_woken() {
    let pool = Pool::create(PLAIN).unwrap();
    let began = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(20));
            write(&pool, 0, 1);
        });
        assert_eq!(pool.wait(0, Duration::from_secs(60)), 1);
    });
    assert!(began.elapsed() < Duration::from_secs(30));
}

#[test]
fn without_a_chunk_records_are_counted_as_dropped() {
    let pool = Pool::create(PLAIN).unwrap();
    for _ in 0..CHUNKS {
        assert!(pool.take(ME).is_some());
    }
    assert!(pool.take(ME).is_none());
    assert_eq!(pool.dropped(), 1);
}

/// Runs `child` in a forked process; its process id, when it has ended.
fn forked(child: impl FnOnce()) -> libc::pid_t {
    // SAFETY: the child only runs the closure, which uses atomics and system calls and
    // allocates nothing, and does not return.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        child();
        // SAFETY: ends the process at once.
        unsafe { libc::_exit(0) };
    }
    assert!(pid > 0);
    pid
}

fn reap(pid: libc::pid_t) {
    let mut status = 0;
    // SAFETY: the status is ours.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
}

#[test]
fn a_killed_process_loses_nothing() {
    let pool = Pool::create(PLAIN).unwrap();
    let held_here = pool.take(ME).unwrap();
    held_here.push(record(1));
    let pid = forked(|| {
        write(&pool, 1, RECORDS as u64);
        if let Some(chunk) = pool.take(Owner { thread: 1, ..ME }) {
            (0..5).for_each(|address| {
                chunk.push(record(address));
            });
        }
        // SAFETY: kills this process alone.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    });
    // Before it is reaped it is a zombie: dead all the same.
    while pool.ready_or_abandoned().len() < 2 {
        thread::sleep(Duration::from_millis(1));
    }
    reap(pid);
    assert_eq!(pool.ready().len(), 1);
    let all = pool.ready_or_abandoned();
    assert_eq!(all.len(), 2);
    assert_eq!(addresses(pool.chunk(all[0])).len(), RECORDS);
    assert_eq!(addresses(pool.chunk(all[1])), [0, 1, 2, 3, 4]);
    all.iter().for_each(|&index| pool.release(index));
    assert!(pool.ready_or_abandoned().is_empty());
    pool.end();
    assert_eq!(pool.ready_or_abandoned().len(), 1);
    assert_eq!(addresses(held_here), [1]);
}

#[test]
fn a_writer_whose_reader_is_dead_does_not_wait() {
    let pool = Pool::create(PLAIN).unwrap();
    let dead = forked(|| {});
    reap(dead);
    pool.layout().reader.store(dead as u32, Ordering::Relaxed);
    write(&pool, 0, (READY_CHUNKS as usize * RECORDS) as u64);
    assert!(pool.take(ME).is_none());
    assert!(pool.has_ended());
}

#[test]
fn departures_are_noted_and_taken_back() {
    let pool = Pool::create(PLAIN).unwrap();
    let failed = pool.depart(b"/not/there");
    let _departed = pool.depart(b"/bin/true");
    assert_eq!(pool.departures().0, 2);
    pool.stay(failed);
    assert_eq!(pool.departures(), (1, vec![b"/bin/true".to_vec()]));
    let long = vec![b'a'; 2000];
    let kept: Vec<_> = (0..DEPARTURES + 10).map(|_| pool.depart(&long)).collect();
    let (count, paths) = pool.departures();
    assert_eq!((count, paths.len()), (75, DEPARTURES));
    assert!(paths.contains(&long[..PATH_BYTES - 1].to_vec()));
    kept.into_iter().for_each(|departed| pool.stay(departed));
    assert_eq!(pool.departures().0, 1);
}

#[test]
fn the_living_are_known() {
    let pool = Pool::create(PLAIN).unwrap();
    pool.enter();
    let pid = forked(|| {
        pool.enter();
    });
    reap(pid);
    assert_eq!(pool.processes(), 2);
    assert_eq!(pool.living(), [std::process::id()]);
    // Another pool's processes are not ours, even where the numbers are the same.
    let other = Pool::create(PLAIN).unwrap();
    other
        .layout()
        .numbers
        .0
        .processes
        .store(2, Ordering::Relaxed);
    other.layout().pids.0[0].store(1, Ordering::Relaxed);
    assert_eq!(other.living(), []);
}

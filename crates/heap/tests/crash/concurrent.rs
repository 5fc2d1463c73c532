//! Threads that work on the same maps, and crashes at any moment meanwhile: what is left is
//! explained by what they have said (`oracle::history`).
//!
//! `TERRACE_HISTORIES` says how many there are of each kind (3 unless told).

use std::env;
use std::sync::{Arc, Mutex};
use std::thread;

use terrace_heap::medium::simulated::{Granule, Images, Simulated};
use terrace_heap::{Options, check, use_lane};

use crate::common::{Memory, create, open, used};
use crate::oracle::history::{History, Log, State};
use crate::oracle::registers::{Registers, work};

/// Operations of all threads together.
const OPS: usize = 160;
/// A crash interrupts one fence in this many.
const FENCES: u64 = 12;
/// Memories that are looked at of each crash.
const IMAGES: u64 = 3;

/// A crash, which happened between two moments of the log.
struct Crash {
    before: usize,
    after: usize,
    images: Images,
}

/// A pool, and how many work on it.
#[derive(Clone, Copy, Debug)]
struct Kind {
    chunk: u64,
    chunks: u64,
    lanes: u16,
    threads: usize,
    journal: bool,
}

impl Kind {
    fn pool(self) -> Memory {
        let pool = Simulated::new(self.chunk * self.chunks, Granule::Line);
        Arc::new(match self.journal {
            true => pool.writing_pages(),
            false => pool,
        })
    }

    fn options(self) -> Options {
        let options = Options::default().chunk_bytes(self.chunk);
        options.lanes(self.lanes).hash_seed(1)
    }
}

fn run(kind: Kind, seed: u64) {
    let pool = kind.pool();
    let heap = create(Arc::clone(&pool), &kind.options());
    let initial = Registers::open(&heap).unwrap().state().unwrap();
    let log: Arc<Mutex<Log>> = Arc::default();
    let crashes: Arc<Mutex<Vec<Crash>>> = Arc::default();
    pool.at_fence(interrupt(seed, &log, &crashes));
    thread::scope(|scope| {
        for thread in 0..kind.threads {
            let (log, heap) = (&log, &heap);
            scope.spawn(move || {
                use_lane(thread);
                let say = |event| log.lock().unwrap().push((thread, event));
                work(heap, thread, (seed, OPS / kind.threads), &say).unwrap();
            });
        }
    });
    pool.at_fence(|_| {});
    let log = log.lock().unwrap();
    let registers = Registers::open(&heap).unwrap();
    let left = registers.state().unwrap();
    assert!(
        History::new(&log, log.len()).explains(&initial, &left),
        "{kind:?}, seed {seed}, without a crash: {log:?} does not explain {left:?}"
    );
    let crashes = std::mem::take(&mut *crashes.lock().unwrap());
    assert!(!crashes.is_empty());
    for crash in crashes {
        crash.look(&log, &initial, &format!("{kind:?}, seed {seed}"));
    }
}

/// Has some fences interrupted.
fn interrupt(
    seed: u64,
    log: &Arc<Mutex<Log>>,
    crashes: &Arc<Mutex<Vec<Crash>>>,
) -> impl FnMut(&Simulated) + Send + use<> {
    let (log, crashes) = (Arc::clone(log), Arc::clone(crashes));
    let mut fences = seed;
    move |pool| {
        fences += 1;
        if fences.is_multiple_of(FENCES) {
            let now = || log.lock().unwrap().len();
            let before = now();
            let images = pool.crash_images(IMAGES, seed);
            let after = now();
            crashes.lock().unwrap().push(Crash {
                before,
                after,
                images,
            });
        }
    }
}

impl Crash {
    fn look(self, log: &Log, initial: &State, when: &str) {
        let history = History::new(&log[..self.after], self.before);
        for (number, image) in self.images.enumerate() {
            if number == 0 {
                let copy = Simulated::from_bytes(&image.bytes(), Granule::Line);
                assert_eq!(check::check(copy), [], "{when}");
            }
            let heap = open(Arc::new(image)).unwrap();
            let registers = Registers::open(&heap).unwrap();
            let left = registers.state().unwrap();
            assert!(
                history.explains(initial, &left),
                "{when}, moments {} to {}: {:?} does not explain {left:?}",
                self.before,
                self.after,
                &log[..self.after]
            );
            assert_eq!(registers.objects().unwrap(), used(&heap), "{when}");
        }
    }
}

/// With as many lanes as threads, and with fewer, which they then share.
#[test]
fn what_threads_leave_is_explained_by_what_they_have_done() {
    let times = env::var("TERRACE_HISTORIES").map_or(3, |times| times.parse().unwrap());
    let mut seed = 0;
    for (chunk, chunks) in [(4 << 10, 60), (16 << 10, 48), (64 << 10, 48)] {
        for (threads, lanes) in [(1, 2), (2, 2), (3, 1), (4, 4), (4, 2)] {
            for _ in 0..times {
                seed += 1;
                let kind = Kind {
                    chunk,
                    chunks,
                    lanes,
                    threads,
                    journal: seed % 3 == 0,
                };
                run(kind, seed);
            }
        }
    }
}

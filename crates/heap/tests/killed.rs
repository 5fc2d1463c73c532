//! A process that is killed while it writes: what it has acknowledged is there.
//!
//! That shows less than `crash`, as the page cache survives the process; but all of it is real.
//! `TERRACE_KILLS` says how often (20 times unless told).

use std::collections::BTreeMap;
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use terrace_heap::containers::HashMap;
use terrace_heap::{Heap, Mapped, Mode, check};

#[path = "common/mod.rs"]
mod common;
use common::{open, used};

type Bytes = [u64; 8];

/// Keys are below this, so that most are there already, and some are removed.
const KEYS: u64 = 4000;
/// What the writing process is told: the pool, and its seed.
const POOL: &str = "TERRACE_KILLED_POOL";
const SEED: &str = "TERRACE_KILLED_SEED";

/// Numbers below the bound that each call names, the same ones for the same seed.
fn random(mut seed: u64) -> impl FnMut(u64) -> u64 {
    move |bound| {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (seed >> 33) % bound
    }
}

/// What the writing process does one after the other: a key, and its new value or none.
fn changes(seed: u64) -> impl Iterator<Item = (u64, Option<u64>)> {
    let mut next = random(seed);
    (1..).map(move |number| {
        let key = next(KEYS);
        let removed = next(4) == 0;
        (key, (!removed).then_some(seed << 32 | number))
    })
}

fn apply(map: &HashMap<u64, Bytes>, (key, value): (u64, Option<u64>)) {
    match value {
        Some(value) => drop(map.insert(&key, &[value; 8]).unwrap()),
        None => drop(map.remove(&key).unwrap()),
    }
}

/// Not a test: what the process does that is killed.
#[test]
fn write() {
    let (Ok(pool), Ok(seed)) = (env::var(POOL), env::var(SEED)) else {
        return;
    };
    let seed = seed.parse().unwrap();
    let heap = open(Mapped::open(Path::new(&pool), mode(seed)).unwrap()).unwrap();
    let map = HashMap::open(&heap, "map").unwrap();
    let mut out = std::io::stderr();
    for (number, change) in (1..).zip(changes(seed)) {
        apply(&map, change);
        // One write, so that a line is there wholly or not at all.
        out.write_all(format!("{number}\n").as_bytes()).unwrap();
    }
}

/// Every other time lines are flushed, which is faster than to write a journal.
fn mode(seed: u64) -> Mode {
    match seed % 2 {
        0 => Mode::Synced,
        _ => Mode::Lines,
    }
}

fn start(pool: &Path, seed: u64) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "write", "--nocapture"]);
    command.env(POOL, pool).env(SEED, seed.to_string());
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Has a process write until it is killed; says how many changes it has acknowledged.
fn killed(pool: &Path, seed: u64, after: Duration) -> usize {
    let mut child = start(pool, seed);
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = lines.next().expect("the process has written").unwrap();
    assert_eq!(first, "1", "the process failed: {first}");
    // It would stand still if nobody read.
    let counted = thread::spawn(move || 1 + lines.map_while(Result::ok).count());
    thread::sleep(after);
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    counted.join().unwrap()
}

/// All entries; there is nothing wrong with the pool, and nothing has leaked.
fn look(pool: &Path) -> BTreeMap<u64, u64> {
    let found = check::check(Mapped::open(pool, Mode::Private).unwrap());
    assert_eq!(found, []);
    let heap = Heap::open(pool).unwrap();
    let map = HashMap::<u64, Bytes>::open(&heap, "map").unwrap();
    let mut reached = map.objects().unwrap();
    reached.sort_unstable();
    assert_eq!(reached, used(&heap));
    let whole = |entry: terrace_heap::Result<(u64, Bytes)>| {
        let (key, value) = entry.unwrap();
        assert_eq!(value, [value[0]; 8]);
        (key, value[0])
    };
    map.iter().map(whole).collect()
}

fn model(entries: &mut BTreeMap<u64, u64>, (key, value): (u64, Option<u64>)) {
    match value {
        Some(value) => drop(entries.insert(key, value)),
        None => drop(entries.remove(&key)),
    }
}

#[test]
fn what_was_acknowledged_is_there_after_kill_9() {
    let times = env::var("TERRACE_KILLS").map_or(20, |times| times.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let pool = folder.path().join("pool");
    let heap = Heap::create_with(&pool, 8 << 20, Mode::Lines, &Default::default()).unwrap();
    drop(HashMap::<u64, Bytes>::open_with_capacity(&heap, "map", 64).unwrap());
    drop(heap);
    let mut entries = BTreeMap::new();
    let mut next = random(1);
    for seed in 1..=times {
        let acknowledged = killed(&pool, seed, Duration::from_micros(next(60_000)));
        let mut done = changes(seed);
        for change in done.by_ref().take(acknowledged) {
            model(&mut entries, change);
        }
        let found = look(&pool);
        if found != entries {
            // The change that was under way may have happened.
            model(&mut entries, done.next().unwrap());
            assert!(
                found == entries,
                "after kill {seed}, {acknowledged} acknowledged"
            );
        }
    }
}

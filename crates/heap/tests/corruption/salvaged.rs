//! Damaged pools are salvaged: the new pool is sound, and holds nothing but what was written.
//!
//! `TERRACE_SALVAGED` pools are damaged, 40 by default.

use std::collections::BTreeMap as Twin;
use std::path::Path;

use terrace_heap::check::check;
use terrace_heap::containers::{BTreeMap, HashMap, Queue, Vector};
use terrace_heap::salvage::{Extent, Salvaged, salvage};
use terrace_heap::{Cause, Heap, Mapped, Mode, Options, Result};

use crate::contents::{Places, Random, damage, value};

const ENTRIES: u64 = 300;

/// Makes a pool that was closed.
fn make(path: &Path, checksums: bool) {
    let options = Options::default().chunk_bytes(4096).lanes(2).hash_seed(1);
    let heap =
        Heap::create_with(path, 1 << 20, Mode::Detected, &options.checksums(checksums)).unwrap();
    let fill = || -> Result<()> {
        let tree = BTreeMap::<u64, [u8]>::open(&heap, "tree")?;
        let map = HashMap::<str, [u8]>::open(&heap, "map")?;
        let queue = Queue::<[u8]>::open(&heap, "queue")?;
        let vector = Vector::<u64>::open(&heap, "vector")?;
        for i in 0..ENTRIES {
            let key = i * 37 % ENTRIES;
            tree.insert(&key, &value(key))?;
            map.insert(&key.to_string(), &value(key))?;
            queue.push(&value(i))?;
            vector.push(&i)?;
        }
        (0..20).try_for_each(|_| queue.pop().map(drop))?;
        HashMap::<u64, u64>::open(&heap, "empty").map(drop)
    };
    fill().unwrap();
    heap.close().unwrap();
}

/// The entries of a salvaged pool; all of them are right.
fn read(path: &Path) -> [u64; 4] {
    let medium = Mapped::open(path, Mode::Private).unwrap();
    assert_eq!(check(medium), []);
    let heap = Heap::open(path).unwrap();
    let names: Vec<String> = heap
        .roots()
        .unwrap()
        .into_iter()
        .map(|root| root.name)
        .collect();
    let has = |name: &str| names.iter().any(|other| other == name);
    let mut found = [0; 4];
    if has("tree") {
        let tree = BTreeMap::<u64, [u8]>::open(&heap, "tree").unwrap();
        for entry in tree.iter() {
            let (key, of) = entry.unwrap();
            assert!(key < ENTRIES && of == value(key), "{key}");
            assert_eq!(tree.get(&key).unwrap(), Some(of));
            found[0] += 1;
        }
        tree.insert(&(ENTRIES + 1), b"more").unwrap();
    }
    if has("map") {
        let map = HashMap::<str, [u8]>::open(&heap, "map").unwrap();
        for entry in map.iter() {
            let (key, of) = entry.unwrap();
            assert!(of == value(key.parse().unwrap()), "{key}");
            assert_eq!(map.get(&key).unwrap(), Some(of));
            found[1] += 1;
        }
        map.insert("more", b"more").unwrap();
    }
    if has("queue") {
        let queue = Queue::<[u8]>::open(&heap, "queue").unwrap();
        let places: Twin<Vec<u8>, Vec<u64>> = (20..ENTRIES).fold(Twin::new(), |mut places, i| {
            places.entry(value(i)).or_default().push(i);
            places
        });
        let mut last = None;
        for element in queue.iter() {
            // In the order in which they were pushed.
            let places = &places[&element.unwrap()];
            let place = places
                .iter()
                .find(|place| last.is_none_or(|last| **place > last));
            last = Some(*place.expect("an element that was not popped"));
            found[2] += 1;
        }
        queue.push(b"more").unwrap();
    }
    if has("vector") {
        let vector = Vector::<u64>::open(&heap, "vector").unwrap();
        found[3] = vector.len().unwrap();
        for i in 0..found[3] {
            assert_eq!(vector.get(i).unwrap(), Some(i));
        }
    }
    heap.close().unwrap();
    found
}

fn of(salvaged: &Salvaged, name: &str) -> u64 {
    let root = salvaged.roots.iter().find(|root| root.name == name);
    root.map_or(0, |root| root.read)
}

const ALL: [u64; 4] = [ENTRIES, ENTRIES, ENTRIES - 20, ENTRIES];

#[test]
fn a_sound_pool_is_salvaged_whole() {
    let folder = tempfile::tempdir().unwrap();
    for (checksums, others) in [
        (false, None),
        (true, None),
        (false, Some(true)),
        (true, Some(false)),
    ] {
        let (old, new) = (folder.path().join("old"), folder.path().join("new"));
        make(&old, checksums);
        let before = std::fs::read(&old).unwrap();
        let salvaged = salvage(&old, &new, others).unwrap();
        assert_eq!(
            (salvaged.extent(), &salvaged.findings[..]),
            (Extent::All, &[][..])
        );
        assert_eq!(
            ["tree", "map", "queue", "vector"].map(|name| of(&salvaged, name)),
            ALL
        );
        assert_eq!(read(&new), ALL);
        let heap = Heap::open_read(&new).unwrap();
        assert_eq!(heap.checksums(), others.unwrap_or(checksums));
        assert!(
            HashMap::<u64, u64>::open(&heap, "empty")
                .unwrap()
                .is_empty()
                .unwrap()
        );
        drop(heap);
        assert!(
            std::fs::read(&old).unwrap() == before,
            "the old pool has changed"
        );
        assert_eq!(salvage(&old, &new, None).unwrap_err().cause(), Cause::Usage);
        std::fs::remove_file(&old).unwrap();
        std::fs::remove_file(&new).unwrap();
    }
}

#[test]
fn what_is_no_pool_is_not_salvaged() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    std::fs::write(&old, [7; 1 << 16]).unwrap();
    assert_eq!(
        salvage(&old, &new, None).unwrap_err().cause(),
        Cause::Damaged
    );
    assert!(!new.exists());
}

/// Where contents have checksums, whatever happens to them; where not, what nothing depends on but
/// the structure.
#[test]
fn what_is_salvaged_of_a_damaged_pool_was_in_it() {
    let pools = std::env::var("TERRACE_SALVAGED").ok();
    let pools = pools.map_or(40, |pools| pools.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let (whole, old, new) = ("whole", "old", "new");
    let [whole, old, new] = [whole, old, new].map(|name| folder.path().join(name));
    make(&whole, true);
    let bytes = std::fs::read(&whole).unwrap();
    let places = Places::of(&Heap::open_read(&whole).unwrap(), &bytes);
    let (mut some, mut all) = (0, 0);
    for seed in 0..pools {
        let mut random = Random(seed);
        let mut damaged = bytes.clone();
        let count = [1, 3, 40][random.below(3)];
        let what: Vec<String> = (0..count)
            .map(|_| damage(&mut damaged, &places, &mut random))
            .collect();
        std::fs::write(&old, damaged).unwrap();
        match salvage(&old, &new, None) {
            Ok(salvaged) => {
                println!("pool {seed}: {what:?}: {:?}", salvaged.roots);
                let found = read(&new);
                let said = ["tree", "map", "queue", "vector"].map(|name| of(&salvaged, name));
                assert_eq!(said, found, "pool {seed}: {what:?}");
                match salvaged.extent() {
                    Extent::All => {
                        all += 1;
                        assert_eq!(found, ALL, "pool {seed}: {what:?}");
                    }
                    extent => {
                        some += 1;
                        assert!(!salvaged.findings.is_empty() && salvaged.findings.len() <= 100);
                        assert!(extent != Extent::Nothing || found == [0; 4]);
                    }
                }
                std::fs::remove_file(&new).unwrap();
            }
            // The header.
            Err(error) => assert_eq!(error.cause(), Cause::Damaged, "pool {seed}: {what:?}"),
        }
    }
    assert!(some > 0 && all > 0, "{some} damaged, {all} whole");
}

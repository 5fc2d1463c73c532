use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::containers::BTreeMap;
use crate::error::Cause;
use crate::heap::Heap;

/// Returns a folder on a file system in memory, where flushing lines is what `Mode::Detected`
/// finds.
fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let path = folder.path().join("pool");
    (folder, path)
}

/// Returns a new file that has its name.
fn create(path: &Path, len: u64, mode: Mode) -> Result<Mapped> {
    let mut made = Mapped::create(path, len, mode)?;
    made.name()?;
    Ok(made)
}

fn refusal(made: Result<Mapped>) -> Error {
    made.err().expect("it is refused")
}

#[derive(Clone, Debug)]
enum Step {
    Store(u64, Vec<u8>),
    Stream(u64, Vec<u8>),
    Word(u64, u64),
    Flush(u64, u64),
    Fence,
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..300);
    prop_oneof![
        (0u64..980, bytes()).prop_map(|(word, bytes)| Step::Store(word * 8, bytes)),
        (0u64..980, bytes()).prop_map(|(word, bytes)| Step::Stream(word * 8, bytes)),
        (0u64..1024, any::<u64>()).prop_map(|(word, value)| Step::Word(word * 8, value)),
        (0u64..8000, 0u64..192).prop_map(|(offset, len)| Step::Flush(offset, len)),
        Just(Step::Fence),
    ]
}

/// Returns what a step does to a pool and to plain bytes, and what has to be counted.
fn perform(pool: &Mapped, twin: &mut [u8], step: &Step) -> Counts {
    let mut counts = Counts::default();
    let lines = |offset: u64, len: usize| {
        let touched = (0..len as u64).map(|i| (offset + i) / 64);
        touched.collect::<std::collections::BTreeSet<_>>().len() as u64
    };
    match step {
        Step::Store(offset, bytes) => {
            pool.store(*offset, bytes);
            twin[*offset as usize..][..bytes.len()].copy_from_slice(bytes);
            counts.bytes = bytes.len() as u64;
        }
        Step::Stream(offset, bytes) => {
            pool.store_streaming(*offset, bytes);
            twin[*offset as usize..][..bytes.len()].copy_from_slice(bytes);
            counts.bytes = bytes.len() as u64;
            counts.lines = lines(*offset, bytes.len());
        }
        Step::Word(offset, word) => {
            pool.store_word(*offset, *word);
            twin[*offset as usize..][..8].copy_from_slice(&word.to_ne_bytes());
            counts.bytes = 8;
        }
        Step::Flush(offset, len) => {
            pool.flush(*offset, *len);
            counts.lines = lines(*offset, *len as usize);
        }
        Step::Fence => {
            pool.fence().unwrap();
            counts.fences = 1;
        }
    }
    counts
}

fn contents(pool: &Mapped) -> Vec<u8> {
    let mut bytes = vec![0; pool.len() as usize];
    pool.load(0, &mut bytes);
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_kind_holds_what_plain_bytes_would_and_counts(
        steps in prop::collection::vec(step(), 0..30),
        mode in prop_oneof![Just(Mode::Detected), Just(Mode::Lines), Just(Mode::Synced)],
    ) {
        let (_folder, path) = folder();
        let pool = create(&path, 8192, mode).unwrap();
        let (mut twin, mut counts) = (vec![0; 8192], Counts::default());
        for step in &steps {
            counts = counts + perform(&pool, &mut twin, step);
        }
        let counted = Counts { syncs: 0, ..pool.counts() };
        prop_assert_eq!(counted, counts);
        prop_assert_eq!(&contents(&pool), &twin);
        drop(pool);
        let again = Mapped::open(&path, Mode::Private).unwrap();
        prop_assert_eq!(&contents(&again), &twin);
    }

    #[test]
    fn memory_without_a_file_does_too_but_has_nothing_to_flush(
        steps in prop::collection::vec(step(), 0..30),
    ) {
        let pool = Mapped::anonymous(8192).unwrap();
        let (mut twin, mut counts) = (vec![0; 8192], Counts::default());
        for step in &steps {
            counts = counts + perform(&pool, &mut twin, step);
        }
        let bytes = counts.bytes;
        prop_assert_eq!(pool.counts(), Counts { bytes, ..Counts::default() });
        prop_assert_eq!(contents(&pool), twin);
    }
}

#[test]
fn what_a_file_is_is_found_out_and_can_be_forced() {
    let (_folder, path) = folder();
    let by = Instruction::detect();
    let in_memory = by.map_or(Kind::Synced, Kind::Assumed);
    let kind = |pool: Result<Mapped>| pool.unwrap().kind();
    assert_eq!(kind(create(&path, 1, Mode::Detected)), in_memory);
    assert_eq!(kind(Mapped::open(&path, Mode::Synced)), Kind::Synced);
    assert_eq!(kind(Mapped::open(&path, Mode::Private)), Kind::Volatile);
    assert_eq!(kind(Mapped::anonymous(1)), Kind::Volatile);
    match by {
        Some(by) => assert_eq!(kind(Mapped::open(&path, Mode::Lines)), Kind::Assumed(by)),
        None => assert_eq!(
            refusal(Mapped::open(&path, Mode::Lines)).cause(),
            Cause::Usage
        ),
    }
}

/// The line that is flushed is the pool's: where its page may not be touched, that faults there.
#[cfg(target_arch = "x86_64")]
#[test]
fn the_lines_of_the_range_are_flushed() {
    let (_folder, path) = folder();
    let pool = create(&path, 12288, Mode::Lines).unwrap();
    let second = pool.base().wrapping_add(4096);
    // SAFETY: the pages are the pool's, and nothing touches the second before the end of this test.
    // A child has them, since it is one that looks where a flush faults.
    let hidden = unsafe {
        libc::madvise(pool.base().cast(), 12288, libc::MADV_DOFORK);
        libc::mprotect(second.cast(), 4096, libc::PROT_NONE)
    };
    assert_eq!(hidden, 0);
    let fault = |offset, len| {
        let fault = flush::tests::fault_address(|| pool.flush(offset, len));
        fault.map(|address| (address - pool.base() as u64) / 64)
    };
    assert_eq!(fault(4000, 96), None);
    assert_eq!(fault(8192, 200), None);
    assert_eq!(fault(4000, 97), Some(64));
    assert_eq!(fault(4097, 1), Some(64));
    assert_eq!(fault(8191, 200), Some(127));
    assert_eq!(fault(5000, 0), None);
}

#[test]
fn a_plain_file_is_synced_once_a_fence_and_only_where_something_was_flushed() {
    let (_folder, path) = folder();
    let pool = create(&path, 65536, Mode::Synced).unwrap();
    pool.fence().unwrap();
    assert_eq!((pool.counts().fences, pool.counts().syncs), (1, 0));
    (0..10).for_each(|page| pool.store_word(page * 4096, 1));
    (0..10).for_each(|page| pool.flush(page * 4096, 8));
    pool.fence().unwrap();
    pool.fence().unwrap();
    assert_eq!((pool.counts().fences, pool.counts().syncs), (3, 1));
    assert_eq!(pool.counts().lines, 10);
}

#[test]
fn a_pool_grows_where_it_lies_and_keeps_what_it_held() {
    let (_folder, path) = folder();
    let grow = |pool: &Mapped| {
        let base = pool.base();
        pool.store_word(4088, 7);
        pool.grow(1_000_000).unwrap();
        pool.grow(5).unwrap();
        assert_eq!((pool.base(), pool.len()), (base, 1_003_520));
        assert_eq!((pool.load_word(4088), pool.load_word(1_003_512)), (7, 0));
        pool.store_word(1_003_512, 8);
        let refused = pool.grow(pool.max_len() + 1).unwrap_err();
        assert_eq!(refused.cause(), Cause::Full);
    };
    grow(&create(&path, 4096, Mode::Detected).unwrap());
    let pool = Mapped::open(&path, Mode::Synced).unwrap();
    assert_eq!((pool.len(), pool.load_word(1_003_512)), (1_003_520, 8));
    grow(&Mapped::anonymous(4096).unwrap());
}

#[test]
fn what_is_only_looked_at_stays_what_it_was() {
    let (_folder, path) = folder();
    create(&path, 4096, Mode::Detected)
        .unwrap()
        .store_word(0, 1);
    let looks = [(); 2].map(|()| Mapped::open(&path, Mode::Private).unwrap());
    looks[0].store_word(0, 2);
    looks[0].grow(8192).unwrap();
    looks[0].store_word(4096, 3);
    looks[0].fence().unwrap();
    assert_eq!(looks[1].load_word(0), 1);
    assert_eq!(fs::metadata(&path).unwrap().len(), 4096);
    let writer = refusal(Mapped::open(&path, Mode::Detected));
    assert!(writer.to_string().contains("is open already"));
    refusal(create(&path, 4096, Mode::Private));
}

#[test]
fn a_pool_is_open_once() {
    let (_folder, path) = folder();
    let pool = create(&path, 4096, Mode::Detected).unwrap();
    for mode in [Mode::Detected, Mode::Private] {
        let error = refusal(Mapped::open(&path, mode));
        assert_eq!(error.cause(), Cause::Open);
        let end = "is open already, here or in another program; close it there first";
        assert_eq!(error.to_string(), format!("{} {end}", path.display()));
    }
    drop(pool);
    Mapped::open(&path, Mode::Detected).unwrap();
}

/// A child that was forked meanwhile has the file open as well.
#[test]
fn a_pool_that_is_closed_can_be_opened_whoever_was_forked() {
    let (_folder, path) = folder();
    let pool = create(&path, 4096, Mode::Detected).unwrap();
    // SAFETY: the child only waits to be killed.
    let child = unsafe { libc::fork() };
    if child == 0 {
        loop {
            // SAFETY: it does nothing.
            unsafe { libc::pause() };
        }
    }
    drop(pool);
    let opened = Mapped::open(&path, Mode::Detected);
    // SAFETY: it is our child, and nothing else waits for it.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, std::ptr::null_mut(), 0);
    }
    opened.unwrap();
}

#[test]
fn what_is_no_pool_is_refused_with_a_sentence() {
    let (folder, path) = folder();
    let says = |made: Result<Mapped>, end: &str| {
        let error = refusal(made).to_string();
        assert!(error.contains(end), "{error}");
    };
    let open = |path: &Path| Mapped::open(path, Mode::Detected);
    says(open(&path), "is not there; create a pool first");
    says(open(folder.path()), "is not a regular file");
    says(open(Path::new("/dev/null")), "is not a regular file");
    let file = File::create(&path).unwrap();
    says(open(&path), "is empty and no pool");
    file.set_len(4095).unwrap();
    says(open(&path), "has 4095 bytes, and a pool has 4096 at least");
    file.set_len(8191).unwrap();
    assert_eq!(open(&path).unwrap().len(), 4096);
    let create = |path: &Path, len| create(path, len, Mode::Detected);
    says(
        create(&path, 4096),
        "is there already; open it, or remove it first",
    );
    says(
        create(&path.join("x"), 4096),
        "cannot be created: Not a directory",
    );
    let missing = folder.path().join("a/b");
    says(create(&missing, 4096), "is not there; create it first");
    says(create(&missing, 0), "a pool cannot have 0 bytes");
}

#[test]
fn what_does_not_fit_is_refused_and_leaves_nothing_behind() {
    let (_folder, path) = folder();
    let error = refusal(create(&path, 1 << 60, Mode::Detected));
    assert_eq!(error.cause(), Cause::Full, "{error}");
    assert!(!path.exists());
}

/// Four threads on one plain file: each fence returns when its own stores are synced.
#[test]
fn threads_share_syncs() {
    let (_folder, path) = folder();
    let pool = &create(&path, 65536, Mode::Synced).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                for i in 0..50 {
                    pool.store_word(thread * 4096 + i * 8, i);
                    pool.flush(thread * 4096 + i * 8, 8);
                    pool.fence().unwrap();
                }
            });
        }
    });
    let counts = pool.counts();
    assert_eq!((counts.lines, counts.fences), (200, 200));
    assert!((50..=200).contains(&counts.syncs));
}

/// Its pages behind the new end are missing, wherever it lies and whoever has it open for what.
#[test]
fn a_file_that_is_cut_while_it_is_open_is_an_error() {
    for folder in [
        tempfile::tempdir().unwrap(),
        tempfile::tempdir_in("/dev/shm").unwrap(),
    ] {
        let path = folder.path().join("pool");
        let other = Heap::create(folder.path().join("other"), 4 << 20).unwrap();
        let kept = BTreeMap::<u64, [u8]>::open(&other, "map").unwrap();
        for read in [false, true] {
            let heap = Heap::create(&path, 8 << 20).unwrap();
            let map = BTreeMap::<u64, [u8]>::open(&heap, "map").unwrap();
            for key in 0..2000 {
                map.insert(&key, &[7; 500]).unwrap();
            }
            let (heap, map) = match read {
                false => (heap, map),
                true => {
                    drop(map);
                    heap.close().unwrap();
                    let heap = Heap::open_read(&path).unwrap();
                    let map = BTreeMap::open(&heap, "map").unwrap();
                    (heap, map)
                }
            };
            let file = OpenOptions::new().write(true).open(&path).unwrap();
            file.set_len(64 << 10).unwrap();
            let sentence = "the file of the pool was cut while it was open";
            let mut errors = Vec::new();
            errors.extend((0..2000).filter_map(|key| map.get(&key).err()));
            errors.extend(map.iter().find_map(Result::err));
            errors.extend(map.len().err());
            for error in &errors {
                assert!(error.to_string().starts_with(sentence), "{error}");
            }
            assert!(errors.len() > 1900, "{}", errors.len());
            map.insert(&1, &[1; 500]).unwrap_err();
            heap.transaction(|tx| tx.open(&map)?.insert(&2, &[2; 500]))
                .unwrap_err();
            drop(map);
            heap.close().unwrap_err();
            kept.insert(&1, &[1; 500]).unwrap();
            assert_eq!(kept.get(&1), Ok(Some(vec![1; 500])));
            std::fs::remove_file(&path).unwrap();
        }
    }
}

/// A missing page looks like damage to the first operation that reads it, whatever the operation
/// is.
#[test]
fn the_first_change_that_finds_a_page_missing_says_so() {
    type Map = BTreeMap<u64, [u8]>;
    /// Lanes lie at the start, and entries behind them.
    const CUTS: [u64; 4] = [64 << 10, 256 << 10, 512 << 10, 1 << 20];
    type Change = fn(&Heap, &Map, u64) -> Result<()>;
    let changes: [Change; 4] = [
        |_, map, key| map.insert(&key, &[1; 500]).map(drop),
        |_, map, key| map.remove(&key).map(drop),
        |heap, map, key| heap.transaction(|tx| tx.open(map)?.get(&key).map(drop)),
        |heap, map, key| heap.transaction(|tx| tx.open(map)?.insert(&key, &[1; 500]).map(drop)),
    ];
    for (change, kept) in changes
        .iter()
        .flat_map(|change| CUTS.map(|kept| (change, kept)))
    {
        let (_folder, path) = folder();
        let heap = Heap::create(&path, 8 << 20).unwrap();
        let map = Map::open(&heap, "map").unwrap();
        for key in 0..2000 {
            map.insert(&key, &[7; 500]).unwrap();
        }
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(kept).unwrap();
        let error = (0..2000).find_map(|key| change(&heap, &map, key).err());
        let error = error.expect("pages are missing").to_string();
        assert!(error.starts_with("the file of the pool was cut"), "{error}");
    }
}

/// By the file that its header names; where the file system does not tell when a file was made,
/// there is nothing to be told by.
#[test]
fn a_file_that_was_copied_while_it_was_open_is_told_from_the_original() {
    let (folder, path) = folder();
    let copied = |name: &str| {
        let copy = folder.path().join(name);
        fs::copy(&path, &copy).unwrap();
        copy
    };
    let heap = Heap::create(&path, 4 << 20).unwrap();
    if heap.medium().identity().is_none() {
        return;
    }
    let map = BTreeMap::<u64, u64>::open(&heap, "map").unwrap();
    map.insert(&1, &2).unwrap();
    let torn = copied("torn");
    heap.copy(folder.path().join("whole")).unwrap();
    drop(map);
    heap.close().unwrap();
    for refused in [Heap::open(&torn).err(), Heap::open_read(&torn).err()] {
        let sentence = refused.unwrap().to_string();
        assert!(
            sentence.starts_with("this file was copied from a pool that was open"),
            "{sentence}"
        );
    }
    let opened = [
        Heap::open(copied("closed")),
        Heap::open(folder.path().join("whole")),
        Heap::open_copied(&torn),
    ];
    for heap in opened {
        let map = BTreeMap::<u64, u64>::open(&heap.unwrap(), "map").unwrap();
        assert_eq!(map.get(&1), Ok(Some(2)));
    }
    // What a crash leaves is in the same file.
    let left = fs::read(&torn).unwrap();
    fs::write(&path, left).unwrap();
    Heap::open(&path).unwrap().close().unwrap();
}

/// A reader leaves the file alone and others to read it, keeps writers off, and changes nothing.
#[test]
fn a_pool_is_read_alone() {
    let (_folder, path) = folder();
    let heap = Heap::create(&path, 4 << 20).unwrap();
    let map = BTreeMap::<u64, u64>::open(&heap, "map").unwrap();
    map.insert(&1, &2).unwrap();
    assert!(Heap::open_read(&path).is_err());
    drop(map);
    heap.close().unwrap();
    let before = fs::read(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let readers = [
        Heap::open_read(&path).unwrap(),
        Heap::open_read(&path).unwrap(),
    ];
    for heap in &readers {
        let map = BTreeMap::<u64, u64>::open(heap, "map").unwrap();
        assert_eq!((map.get(&1), map.len()), (Ok(Some(2)), Ok(1)));
        let sentence = "the pool is open for reading alone; open it for writing to change it";
        let refused = [
            map.insert(&1, &3).err(),
            map.clear().err(),
            map.pop_first().err(),
            heap.transaction(|tx| tx.open(&map)?.insert(&1, &3)).err(),
            heap.root::<u64>("new", 1).err(),
            heap.remove_root("map").err(),
            heap.remove("map").err(),
            heap.compact().err(),
            heap.grow(8 << 20).err(),
            BTreeMap::<u64, u64>::open(heap, "another").err(),
        ];
        for (i, error) in refused.into_iter().enumerate() {
            assert_eq!(error.unwrap().to_string(), sentence, "{i}");
        }
        assert_eq!((map.get(&1), heap.roots().unwrap().len()), (Ok(Some(2)), 1));
    }
    assert!(Heap::open(&path).is_err());
    drop(readers);
    assert!(fs::read(&path).unwrap() == before);
}

use super::*;

/// Makes a directory like a root of version 2, with the kernel's files as plain files.
fn fake_v2() -> (tempfile::TempDir, Hierarchies) {
    let root = tempfile::tempdir().unwrap();
    let found = Hierarchies {
        memory: root.path().to_owned(),
        version: Version::V2,
        perf: Some(root.path().to_owned()),
    };
    (root, found)
}

fn create(found: &Hierarchies, limits: Option<Limits>) -> Result<Budget> {
    Budget::create(found, "terrace-7", limits, &Needed::default())
}

#[test]
fn version_two_is_one_group_with_its_own_files() {
    let (root, found) = fake_v2();
    let limits = Limits {
        dram: Bytes(1 << 30),
        tier: Some(Bytes(1 << 32)),
    };
    let budget = create(&found, Some(limits)).unwrap();
    let group = root.path().join("terrace-7");
    let read = |path: PathBuf| fs::read_to_string(path).unwrap();
    assert_eq!(budget.directories(), std::slice::from_ref(&group));
    assert_eq!(read(group.join("memory.high")), "1073741824");
    assert_eq!(read(group.join("memory.max")), "1075838976");
    // The kernel makes its files with the directory, the test only afterwards.
    assert!(!group.join("memory.swap.max").exists());
    fs::write(group.join("memory.swap.max"), "max").unwrap();
    budget.limit(limits).unwrap();
    assert_eq!(read(group.join("memory.swap.max")), "4294967296");

    fs::write(
        group.join("memory.stat"),
        "anon 8192\nfile 40960\nkernel 100\nshmem 4096\nswapcached 4096\npgfault 30\n\
         pgmajfault 7\n",
    )
    .unwrap();
    fs::write(group.join("memory.swap.current"), "12288\n").unwrap();
    fs::write(group.join("memory.events"), "oom 2\noom_kill 1\n").unwrap();
    fs::write(group.join("memory.peak"), "65536\n").unwrap();
    let usage = budget.usage();
    assert_eq!((usage.resident, usage.swapped), (Bytes(12288), Bytes(8192)));
    assert_eq!((usage.faults, usage.major_faults), (30, 7));
    assert_eq!(budget.oom_kills(), 1);
    assert_eq!(budget.peak(), Some(Bytes(65536)));
    let charges = Charges {
        peak: None, // for there is none of swap
        own: Bytes(20480),
        files: Bytes(36 << 10),
        kernel: Bytes(100),
        twice: Bytes(4096),
    };
    assert_eq!(usage.charges, charges);
    fs::write(group.join("memory.swap.peak"), "16384\n").unwrap();
    assert_eq!(budget.usage().charges.peak, Some(Bytes(81920)));

    assert_eq!(budget.processor_time(), None);
    fs::write(
        group.join("cpu.stat"),
        "usage_usec 7\nuser_usec 5000\nsystem_usec 2\n",
    )
    .unwrap();
    let times = (Duration::from_millis(5), Duration::from_micros(2));
    assert_eq!(budget.processor_time(), Some(times));
}

#[test]
fn version_one_counts_pages_in_the_swap_cache_as_memory_alone() {
    let root = tempfile::tempdir().unwrap();
    let found = Hierarchies {
        memory: root.path().to_owned(),
        version: Version::V1,
        perf: None,
    };
    let budget = create(&found, None).unwrap();
    let statistics = "total_cache 12288\ntotal_rss 8192\ntotal_shmem 4096\n\
                      total_swap 32768\ntotal_swapcached 40960\n";
    fs::write(budget.statistics(), statistics).unwrap();
    let usage = budget.usage();
    assert_eq!(
        (usage.resident, usage.swapped, usage.charges.files),
        (Bytes(12288), Bytes(32768), Bytes(8192))
    );
}

#[test]
fn the_limit_of_a_program_that_runs_is_lowered_in_steps() {
    let (root, found) = fake_v2();
    let budget = create(&found, None).unwrap();
    let group = root.path().join("terrace-7");
    let limits = Limits {
        dram: Bytes(50 << 20),
        tier: None,
    };
    // Nobody is in the group: what is asked for is the first step, and the program has ended.
    fs::write(group.join("memory.current"), (150_u64 << 20).to_string()).unwrap();
    budget.lower(limits, || ()).unwrap();
    let high = || fs::read_to_string(group.join("memory.high")).unwrap();
    assert_eq!(high(), (118_u64 << 20).to_string());
    assert!(!group.join("memory.max").exists(), "it would kill at once");
    // Somebody is, whose memory does not leave.
    fs::write(group.join("cgroup.procs"), "1\n").unwrap();
    let error = budget.lower(limits, || ()).unwrap_err().to_string();
    assert!(
        error.starts_with("150 MiB of the program's memory stay"),
        "{error}"
    );
    budget.unlimit();
    assert_eq!(high(), "max");
    fs::write(group.join("memory.current"), (40_u64 << 20).to_string()).unwrap();
    budget.lower(limits, || ()).unwrap();
    assert_eq!(high(), (50_u64 << 20).to_string());
    assert!(group.join("memory.max").exists());
}

#[test]
fn memory_by_node_under_both_versions() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("memory.numa_stat");
    let counter = |version| NodeCounter {
        file: file.clone(),
        version,
    };
    assert_eq!(counter(Version::V2).on(0), Bytes(0), "there is no file");
    fs::write(
        &file,
        "anon N0=4096 N1=8192\nfile N0=1 N1=2\nshmem N0=0 N1=4096\n",
    )
    .unwrap();
    assert_eq!(counter(Version::V2).on(0), Bytes(4096));
    assert_eq!(counter(Version::V2).on(1), Bytes(12288));
    assert_eq!(counter(Version::V2).on(2), Bytes(0));
    let text = "anon=9 N0=8 N1=1\nhierarchical_anon=12 N0=10 N1=2\n";
    fs::write(&file, text).unwrap();
    assert_eq!(counter(Version::V1).on(0), Bytes(10 << 12));
    assert_eq!(counter(Version::V1).on(1), Bytes(2 << 12));
}

#[test]
fn a_group_that_exists_is_not_taken_over() {
    let (_root, found) = fake_v2();
    let first = create(&found, None).unwrap();
    let second = create(&found, None).unwrap_err();
    assert!(second.to_string().contains("cannot make the cgroup"));
    assert!(first.directories()[0].exists(), "the first is untouched");
}

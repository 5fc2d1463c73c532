//! Tiers that must not be used for swap, or cannot be.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use crate::case::{Case, case};

const MIB: u64 = 1 << 20;

/// Bytes that are put on a device, and where.
type Content = Vec<(u64, Vec<u8>)>;

/// The devices in use, which the kernel takes away when they are closed: with this process,
/// whatever ends it.
static HELD: Mutex<Vec<File>> = Mutex::new(Vec::new());

pub fn cases() -> Vec<Case> {
    let mut all = paths();
    all.extend(devices());
    all
}

/// What is no directory on a disk and no block device.
fn paths() -> Vec<Case> {
    let refused = |name: &str, tier: &str, why: &str| {
        case(name, "run --dram 64M --footprint 32M --tier")
            .argument(tier)
            .and("-- true")
            .usage(why)
    };
    let live = |case: Case| {
        case.variable("TERRACE_STATE_DIR", "{dir}/state")
            .leaves("state")
            .live()
    };
    vec![
        refused("empty_name", "", "does not exist"),
        refused("character_device", "/dev/zero", "neither a directory"),
        refused("fifo", "{dir}/fifo", "neither a directory").fifo("fifo"),
        refused("dangling_link", "{dir}/link", "does not exist").link("link", "gone"),
        refused("link_to_itself", "{dir}/link", "cannot use the tier").link("link", "link"),
        refused("file_as_directory", "{dir}/file/x", "cannot use the tier").file("file", "x"),
        refused("nearly_zram", "ZRAM", "does not exist"),
        refused("level_without_name", "zram+", "does not exist"),
        refused("level_of_zram", "zram+zram+/", "zram+/ does not exist"),
        refused("level_of_fifo", "zram+{dir}/fifo", "neither a directory").fifo("fifo"),
        refused("node_without_number", "node:", "write it as node:1"),
        refused("node_that_is_not_there", "node:99", "memory node"),
        case(
            "migration_without_node",
            "run --dram 64M --migration hot -- true",
        )
        .usage("as node:1"),
        case(
            "page_cache_on_node",
            "run --dram 64M --tier node:1 --migration fault -- true",
        )
        .usage("cannot address"),
        live(refused("proc", "/proc", "/proc")),
        live(refused("sysfs", "/sys", "/sys")),
        live(refused("memory", "/dev/shm", "is DRAM itself")),
        live(refused(
            "level_of_memory",
            "zram+/dev/shm",
            "is DRAM itself",
        )),
        live(
            case(
                "too_large",
                "run --dram 64M --footprint 4P --tier {dir} -- true",
            )
            .usage("are needed"),
        ),
        case("size_too_small", "run --dram 64M --tier-size 63M -- true").usage("at least 64.0 MiB"),
        case("size_negative", "run --dram 64M --tier-size -1G -- true").usage("it is negative"),
        case(
            "size_of_a_node",
            "run --dram 64M --tier node:0 --tier-size 1G -- true",
        )
        .usage("--tier-size is of swap"),
        live(
            case(
                "size_of_the_machine_s_own",
                "run --dram 64M --tier existing --tier-size 1G -- true",
            )
            .usage("leave --tier-size out"),
        ),
        live(
            case(
                "size_of_more_than_half_of_the_disk",
                "run --dram 64M --tier-size 4P -- true",
            )
            .usage("is more than half of the"),
        ),
        live(
            case(
                "size_below_the_footprint",
                "run --dram 64M --footprint 400M --tier-size 64M -- true",
            )
            .usage("336 MiB are needed"),
        ),
        live(
            case(
                "size_of_zram_below_the_footprint",
                "run --dram 64M --footprint 400M --tier-size 64M --tier zram -- true",
            )
            .usage("336 MiB are needed"),
        ),
        live(case("size_for_calibrate", "calibrate --tier-size 64M").usage("576 MiB are needed")),
        live(case("calibrate_memory", "calibrate --tier /dev/shm").usage("is DRAM itself")),
        case("force_alone", "run --dram 64M --force -- true").usage("--tier"),
        case(
            "force_twice",
            "run --dram 64M --tier / --force --force -- true",
        )
        .usage("--force"),
    ]
}

/// A case in which `device` is a device of `size` with this content, made with these options.
fn on_device(name: &str, size: u64, content: Content, options: &'static [&str]) -> Case {
    let line = "run --dram 64M --footprint 32M --tier {dir}/device -- true";
    case(format!("device_{name}"), line)
        .variable("TERRACE_STATE_DIR", "{dir}/state")
        .leaves("state")
        .live()
        .prepared(move |place| make_device(place, size, &content, options))
}

/// A run on a blank device of 256 MiB, of which it may use this much.
fn sized_device(name: &str, allowed: &str) -> Case {
    let line = "run -q --dram 64M --footprint 96M --tier {dir}/device --tier-size";
    case(format!("device_{name}"), line)
        .argument(allowed)
        .and("-- true")
        .variable("TERRACE_STATE_DIR", "{dir}/state")
        .leaves("state")
        .live()
        .prepared(|place| make_device(place, 256 * MIB, &Vec::new(), &[]))
}

fn make_device(place: &Path, size: u64, content: &Content, options: &[&str]) {
    // On a disk: a temporary directory may be memory.
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a file");
    file.as_file().set_len(size).expect("its size");
    for (at, bytes) in content {
        file.as_file().write_all_at(bytes, *at).expect("content");
    }
    let made = Command::new("losetup")
        .args(["--find", "--show"])
        .args(options)
        .arg(file.path())
        .output()
        .expect("losetup");
    assert!(made.status.success(), "{made:?}");
    let device = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let held = File::open(&device).expect("the device");
    let detached = Command::new("losetup").args(["--detach", &device]).status();
    assert!(detached.expect("losetup").success());
    symlink(&device, place.join("device")).expect("a link");
    HELD.lock().unwrap().push(held);
}

/// The first page of a swap area, with a volume name.
fn swap_header(label: &[u8]) -> Content {
    let mut page = vec![0; 4096];
    page[1024..1028].copy_from_slice(&1u32.to_ne_bytes());
    page[1028..1032].copy_from_slice(&4095u32.to_ne_bytes());
    page[1036..1052].copy_from_slice(&[7; 16]);
    page[1052..1052 + label.len()].copy_from_slice(label);
    page[4086..].copy_from_slice(b"SWAPSPACE2");
    vec![(0, page)]
}

/// A partition table with one partition, from MiB 1 on.
fn partition_table() -> Content {
    let mut sector = vec![0; 512];
    sector[446 + 4] = 0x83;
    sector[446 + 8..446 + 12].copy_from_slice(&2048u32.to_le_bytes());
    sector[446 + 12..446 + 16].copy_from_slice(&65536u32.to_le_bytes());
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    vec![(0, sector)]
}

fn devices() -> Vec<Case> {
    let size = 256 * MIB;
    let at = |place: u64| vec![(place, b"photographs".to_vec())];
    // What is between the beginning and the end is looked at in 1,024 places.
    let between = (size - 65 * MIB - (128 << 10)) / 1024;
    let place = 64 * MIB + (128 << 10) + (between * 500) / 4096 * 4096;
    let mut all = Vec::new();
    for (name, content, why) in [
        ("data_at_the_start", at(0), "from byte 0 on"),
        ("data_in_the_second_page", at(4096), "from byte 4096 on"),
        ("data_behind_128_kib", at(128 << 10), "from byte 131072 on"),
        ("data_from_2_mib", at(2 * MIB), "from byte 2097152 on"),
        ("data_from_64_mib", at(64 * MIB), "from byte 67108864 on"),
        ("data_in_the_middle", at(place), "holds data (from byte"),
        ("data_at_the_end", at(size - 11), "holds data (from byte"),
        ("foreign_swap", swap_header(b""), "holds data"),
        ("named_swap", swap_header(b"hibernation"), "holds data"),
        ("nearly_our_swap", swap_header(b"terrace2"), "holds data"),
        ("partition_table", partition_table(), "holds data"),
        (
            "luks",
            vec![(0, b"LUKS\xba\xbe\x00\x02".to_vec())],
            "holds data",
        ),
        ("ext4", vec![(1080, vec![0x53, 0xef])], "holds data"),
        ("xfs", vec![(0, b"XFSB".to_vec())], "holds data"),
        ("lvm", vec![(512, b"LABELONE".to_vec())], "holds data"),
        (
            "raid_at_the_end",
            vec![(size - (64 << 10), vec![0xfc, 0x4e, 0x2b, 0xa9])],
            "holds data",
        ),
        (
            "btrfs_mirror",
            vec![(64 * MIB + 64, b"_BHRfS_M".to_vec())],
            "holds data",
        ),
    ] {
        all.push(on_device(name, size, content, &[]).usage(why));
    }
    all.push(on_device("partitions", size, partition_table(), &["--partscan"]).usage("holds data"));
    all.push(sized_device("size_of_a_part", "64M"));
    all.push(sized_device("size_beyond_it", "1G"));
    all.push(on_device("small", 32 * MIB, Vec::new(), &[]).usage("64.0 MiB are needed"));
    all.push(on_device("tiny", 512, Vec::new(), &[]).usage("are needed"));
    all.push(on_device("read_only", size, Vec::new(), &["--read-only"]).usage("is read-only"));
    all.push(
        on_device("held", size, Vec::new(), &[])
            .prepared(|place| {
                let mut options = OpenOptions::new();
                options.read(true).custom_flags(libc::O_EXCL);
                let device = fs::canonicalize(place.join("device")).unwrap();
                let held = options.open(device).expect("the device");
                HELD.lock().unwrap().push(held);
            })
            .usage("is in use"),
    );
    all
}

//! `doctor --clean` on what others have put into the state directory, or where a run's things were:
//! each is named and left, and the command returns 1.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use crate::case::{Case, case};

/// The process of the killed run: a number that no kernel gives.
const GONE: &str = "4194305";
const JOURNAL: &str = "state/run-4194305.json";
/// The swap file of that run, and the UUID that its journal has.
const AREA: &str = "state/terrace-4194305.swap";
const UUID: &str = "00112233-4455-6677-8899-aabbccddeeff";
const UUID_BYTES: [u8; 16] = [
    0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff,
];

pub fn cases() -> Vec<Case> {
    let mut all = vec![
        case("no_directory", "doctor --clean")
            .variable("TERRACE_STATE_DIR", "{dir}/none")
            .says("nothing was left behind"),
        empty("nothing").says("nothing was left behind"),
        empty("by_a_link")
            .link("link", "state")
            .variable("TERRACE_STATE_DIR", "{dir}/link")
            .says("nothing was left behind"),
    ];
    all.extend(directories());
    all.extend(strays());
    all.extend(files());
    all.extend(groups_and_devices());
    all.extend(orphans());
    all
}

/// Files of areas that no journal names.
fn orphans() -> Vec<Case> {
    let ours = |case: Case| {
        case.prepared(|place| header(&place.join(AREA), [7; 16], b"terrace"))
            .root()
            .changes(AREA)
    };
    vec![
        ours(empty("orphan_file")).says("terrace-4194305.swap is removed"),
        ours(with_journal("orphan_of_a_journal_cut_off", "{\"owner\":"))
            .and("-q")
            .failure("or was cut off"),
        ours(with_journal("orphan_of_an_empty_journal", ""))
            .and("-q")
            .failure("remove it (rm "),
        empty("orphan_of_the_system")
            .prepared(|place| header(&place.join(AREA), [7; 16], b""))
            .says("nothing was left behind"),
        empty("orphan_of_text")
            .file(AREA, "not to be lost")
            .says("nothing was left behind"),
        // Process 1 runs, and is older than the file.
        empty("orphan_of_a_live_process")
            .prepared(|place| header(&place.join("state/terrace-1.swap"), [7; 16], b"terrace"))
            .says("nothing was left behind"),
        empty("orphan_is_a_link")
            .prepared(|place| header(&place.join("private"), [7; 16], b"terrace"))
            .link(AREA, "../private")
            .says("nothing was left behind"),
        empty("orphan_has_two_names")
            .prepared(|place| header(&place.join("private"), [7; 16], b"terrace"))
            .prepared(|place| fs::hard_link(place.join("private"), place.join(AREA)).unwrap())
            .failure("of one name"),
    ]
}

/// Cleans a directory that only its owner may write to.
fn empty(name: &str) -> Case {
    case(name, "doctor --clean")
        .variable("TERRACE_STATE_DIR", "{dir}/state")
        .directory("state")
        .mode("state", 0o755)
}

/// A journal's text; `{dir}` and `{boot}` stand for the case's directory and this boot.
fn written(changes: &str) -> String {
    format!(r#"{{"owner":{{"pid":{GONE},"boot":"{{boot}}","started":1}},"changes":[{changes}]}}"#)
}

/// Cleans with this text in the journal of the killed run.
fn with_journal(name: &str, text: impl Into<Vec<u8>>) -> Case {
    let text = text.into();
    empty(name).prepared(move |place| {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        let content = match String::from_utf8(text) {
            Ok(text) => text
                .replace("{dir}", place.to_str().unwrap())
                .replace("{boot}", boot.trim())
                .into_bytes(),
            Err(other) => other.into_bytes(),
        };
        fs::write(place.join(JOURNAL), content).unwrap();
        fs::set_permissions(place.join(JOURNAL), Permissions::from_mode(0o600)).unwrap();
    })
}

/// Cleans after a run that changed this.
fn after(name: &str, changes: &str) -> Case {
    with_journal(name, written(changes))
}

/// Cleans after a run that had a swap file here, wherever it lies.
fn after_file(name: &str, path: &str) -> Case {
    let area =
        format!(r#"{{"tier":[{{"file":["{path}",1048576]}},{{"uuid":"{UUID}","node":null}}]}}"#);
    after(name, &area)
}

/// Directories that must not be trusted.
fn directories() -> Vec<Case> {
    let open = |name, mode| {
        after_file(name, &format!("{{dir}}/{AREA}"))
            .file(AREA, "")
            .mode("state", mode)
            .failure("may be written by other users")
    };
    vec![
        open("directory_of_everybody", 0o777),
        open("directory_of_everybody_sticky", 0o1777),
        open("directory_of_a_group", 0o775),
        after_file("directory_of_nobody", &format!("{{dir}}/{AREA}"))
            .file(AREA, "")
            .nobody_s("state")
            .failure("belongs to nobody"),
        case("directory_in_an_open_one", "doctor --clean")
            .variable("TERRACE_STATE_DIR", "{dir}/open/state")
            .directory("open/state")
            .mode("open", 0o777)
            .failure("everybody may replace it"),
        case("directory_is_a_file", "doctor --clean")
            .variable("TERRACE_STATE_DIR", "{dir}/file")
            .file("file", "of others")
            .failure("cannot open the state directory"),
    ]
}

/// Files with a journal's name that are none, or must not be trusted.
fn strays() -> Vec<Case> {
    let mut all: Vec<_> = [
        ("journal_empty", ""),
        ("journal_cut_off", "{\"owner\":"),
        ("journal_of_nothing", "{}"),
        ("journal_is_a_list", "[1, 2, 3]"),
        ("journal_is_a_number", "18446744073709551616"),
        ("journal_of_an_older_version", r#"{"owner":{"pid":4194305,"boot":"{boot}","started":1},"changes":[{"tier":{"file":["{dir}/state/terrace-4194305.swap",4096]}}]}"#),
        ("journal_with_more", r#"{"owner":{"pid":4194305,"boot":"{boot}","started":1},"changes":[],"command":"rm"}"#),
        ("journal_of_a_negative_process", r#"{"owner":{"pid":-1,"boot":"{boot}","started":1},"changes":[]}"#),
        ("journal_of_unknown_changes", r#"{"owner":{"pid":4194305,"boot":"{boot}","started":1},"changes":[{"file":"/etc/passwd"}]}"#),
    ]
    .into_iter()
    .map(|(name, text)| with_journal(name, text).failure("no journal of this version of terrace"))
    .collect();
    all.extend([
        with_journal("journal_nested", "[".repeat(500_000))
            .failure("no journal of this version of terrace"),
        with_journal("journal_huge", " ".repeat(2 << 20)).failure("is too large"),
        with_journal("journal_of_bytes", [0xff, 0xfe, 0x00]).failure("is no text"),
        with_journal(
            "journal_of_another_process",
            written("").replace(GONE, "4194306"),
        )
        .failure("the journal of another process"),
        after_file("journal_of_nobody", &format!("{{dir}}/{AREA}"))
            .file(AREA, "")
            .nobody_s(JOURNAL)
            .failure("belongs to nobody"),
        after_file("journal_open_to_all", &format!("{{dir}}/{AREA}"))
            .file(AREA, "")
            .mode(JOURNAL, 0o666)
            .failure("may be written by other users"),
        after("journal_with_a_second_name", "")
            .prepared(|place| fs::hard_link(place.join(JOURNAL), place.join("second")).unwrap())
            .failure("has more than one name"),
        empty("journal_is_a_fifo")
            .fifo(JOURNAL)
            .failure("no regular file"),
        empty("journal_is_a_directory")
            .directory(JOURNAL)
            .failure("no regular file"),
        empty("journal_is_a_link")
            .file("elsewhere", written(""))
            .link(JOURNAL, "../elsewhere")
            .failure("is a symbolic link"),
        empty("other_files")
            .file("state/package.json", "{")
            .says("nothing was left behind"),
        empty("names_that_are_none")
            .file("state/run-.json", "{")
            .file("state/run-1x.json", "{")
            .file("state/run-1.json.bak", "{")
            .says("nothing was left behind"),
    ]);
    all
}

/// Puts a swap header of a mebibyte at a path: its UUID, and its label.
fn header(path: &Path, uuid: [u8; 16], label: &[u8]) {
    let mut file = vec![0; 1 << 20];
    file[1024..1028].copy_from_slice(&1u32.to_ne_bytes());
    file[1028..1032].copy_from_slice(&255u32.to_ne_bytes());
    file[1036..1052].copy_from_slice(&uuid);
    file[1052..1052 + label.len()].copy_from_slice(label);
    file[4086..4096].copy_from_slice(b"SWAPSPACE2");
    fs::write(path, file).unwrap();
}

/// Paths in journals, and what lies there.
fn files() -> Vec<Case> {
    let here = format!("{{dir}}/{AREA}");
    let swap = |name: &str, uuid: [u8; 16], label: &'static [u8]| {
        after_file(name, &here).prepared(move |place| header(&place.join(AREA), uuid, label))
    };
    vec![
        swap("file_of_the_run", UUID_BYTES, b"terrace")
            .root()
            .says("terrace-4194305.swap is removed")
            .changes(AREA)
            .changes(JOURNAL),
        after_file("file_never_filled", &here)
            .root()
            .file(AREA, "")
            .says("terrace-4194305.swap is removed")
            .changes(AREA)
            .changes(JOURNAL),
        after_file("file_gone", &here)
            .says("which left nothing else, is removed")
            .changes(JOURNAL),
        swap("file_of_another_run", [7; 16], b"terrace").failure("of another area"),
        swap("file_of_the_system", UUID_BYTES, b"").failure("not one of terrace"),
        after_file("file_of_text", &here).file(AREA, "not to be lost").failure("has no swap header"),
        after_file("file_of_zeros", &here)
            .file(AREA, vec![0; 8192])
            .failure("has no swap header"),
        after_file("file_is_a_link", &here)
            .prepared(|place| header(&place.join("private"), UUID_BYTES, b"terrace"))
            .link(AREA, "../private")
            .failure("is a symbolic link"),
        after_file("file_has_two_names", &here)
            .prepared(|place| header(&place.join("private"), UUID_BYTES, b"terrace"))
            .prepared(|place| fs::hard_link(place.join("private"), place.join(AREA)).unwrap())
            .failure("of one name"),
        after_file("file_is_a_directory", &here).directory(AREA).failure("neither a regular file"),
        after_file("file_is_a_fifo", &here).fifo(AREA).failure("neither a regular file"),
        after_file("file_of_a_private_name", "{dir}/private")
            .file("private", "not to be lost")
            .failure("no name that the run gives"),
        after_file("file_of_another_process", "{dir}/state/terrace-1.swap")
            .file("state/terrace-1.swap", "")
            .failure("no name that the run gives"),
        after_file("file_of_a_longer_number", "{dir}/state/terrace-41943050.swap")
            .file("state/terrace-41943050.swap", "")
            .failure("no name that the run gives"),
        after_file("file_up_and_down", &format!("{{dir}}/state/../{AREA}"))
            .file(AREA, "")
            .failure("no path that a run writes down"),
        after_file("file_from_here", AREA).file(AREA, "").failure("no path that a run writes down"),
        after(
            "file_of_another_inode",
            &format!(r#"{{"tier":[{{"file":["{here}",1048576]}},{{"uuid":"{UUID}","node":{{"device":1,"inode":1}}}}]}}"#),
        )
        .prepared(|place| header(&place.join(AREA), UUID_BYTES, b"terrace"))
        .failure("another file than the run made"),
        // Before the machine was started anew, numbers of devices were others.
        empty("file_of_an_earlier_boot")
            .root()
            .prepared(|place| {
                header(&place.join(AREA), UUID_BYTES, b"terrace");
                let inode = fs::metadata(place.join(AREA)).unwrap().ino();
                let area = place.join(AREA);
                let text = format!(
                    r#"{{"owner":{{"pid":{GONE},"boot":"earlier","started":1}},"changes":[{{"tier":[{{"file":["{}",1048576]}},{{"uuid":"{UUID}","node":{{"device":1,"inode":{inode}}}}}]}}]}}"#,
                    area.display()
                );
                fs::write(place.join(JOURNAL), text).unwrap();
                fs::set_permissions(place.join(JOURNAL), Permissions::from_mode(0o600)).unwrap();
            })
            .says("terrace-4194305.swap is removed")
            .changes(AREA)
            .changes(JOURNAL),
    ]
}

/// Groups and devices in journals.
fn groups_and_devices() -> Vec<Case> {
    let device = |name, path: &str| {
        after(
            name,
            &format!(r#"{{"tier":[{{"device":"{path}"}},{{"uuid":"{UUID}","node":null}}]}}"#),
        )
    };
    vec![
        after(
            "group_that_is_a_directory",
            r#"{"cgroup":"{dir}/state/terrace-4194305-1"}"#,
        )
        .directory("state/terrace-4194305-1")
        .file("state/terrace-4194305-1/cgroup.procs", "1\n")
        .failure("in no cgroup file system"),
        after(
            "group_that_is_a_file",
            r#"{"cgroup":"{dir}/state/terrace-4194305-1"}"#,
        )
        .file("state/terrace-4194305-1", "not to be lost")
        .failure("cannot be looked at"),
        after(
            "group_that_is_a_link",
            r#"{"cgroup":"{dir}/state/terrace-4194305-1"}"#,
        )
        .link("state/terrace-4194305-1", "/sys/fs/cgroup")
        .failure("cannot be looked at"),
        after("group_of_the_system", r#"{"cgroup":"/sys/fs/cgroup"}"#)
            .failure("no name that the run gives"),
        after(
            "group_gone",
            r#"{"cgroup":"/sys/fs/cgroup/terrace-4194305-1"}"#,
        )
        .says("which left nothing else, is removed")
        .changes(JOURNAL),
        after("callers_of_another_name", r#"{"callers":"/sys/fs/cgroup"}"#)
            .failure("no name that a run gives"),
        after(
            "callers_in_no_hierarchy",
            r#"{"callers":"{dir}/state/terrace-callers"}"#,
        )
        .directory("state/terrace-callers")
        .file("state/terrace-callers/cgroup.procs", "1\n")
        .failure("in no cgroup file system"),
        device("device_that_is_none", "/dev/null").failure("is no block device"),
        device("device_that_is_a_file", "{dir}/private")
            .file("private", "not to be lost")
            .failure("is no block device"),
        device("device_that_is_an_empty_file", "{dir}/private")
            .file("private", "")
            .failure("is no block device"),
        device("device_gone", "/dev/no-such-device")
            .says("which left nothing else, is removed")
            .changes(JOURNAL),
        after(
            "zram_gone",
            &format!(r#"{{"tier":[{{"zram":[4000,4096,true]}},{{"uuid":"{UUID}","node":null}}]}}"#),
        )
        .says("which left nothing else, is removed")
        .changes(JOURNAL),
        after("page_cluster_of_words", r#"{"page_cluster":"0; reboot"}"#)
            .live()
            .says("vm.page-cluster stays ")
            .changes(JOURNAL),
    ]
}

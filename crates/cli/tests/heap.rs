//! `terrace heap`, driven as people drive it. Needs no privilege.
//! Long: a session for each subcommand.

#[path = "common/schema.rs"]
mod schema;

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use terrace_heap::containers::BTreeMap;
use terrace_heap::{Heap, Mode, Options, Place, Ptr};

use schema::{checked, checked_as};

type Object = [u64; 6];
type Table = [Ptr<Object>; 300];

/// A directory with a pool, `app.pool`.
struct Pool(TempDir);

impl Pool {
    /// A table of 300 objects of which every tenth is left, and a large object.
    fn new() -> Self {
        let pool = Self(tempfile::tempdir().expect("a directory"));
        pool.fill().expect("a pool");
        pool
    }

    fn fill(&self) -> terrace_heap::Result<()> {
        let options = Options::default().chunk_bytes(4096).lanes(2);
        let heap = Heap::create_with(self.file(), 1 << 20, Mode::Lines, &options)?;
        let root: Place<Table> = heap.root("table", 0)?;
        let table = heap.publish(root, &[Ptr::NULL; 300])?;
        for i in 0..300 {
            heap.publish(table.field(i * 8), &[i as u64; 6])?;
        }
        for i in (0..300).filter(|i| i % 10 != 0) {
            heap.free::<Object>(table.field(i * 8))?;
        }
        let large: Place<[u8; 10000]> = heap.root("large one", 5)?;
        heap.publish(large, &[b'x'; 10000]).map(drop)
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("app.pool")
    }

    fn flip(&self, at: u64) {
        let file = OpenOptions::new().read(true).write(true).open(self.file());
        let (file, mut byte) = (file.expect("the pool"), [0]);
        file.read_exact_at(&mut byte, at).expect("a byte");
        file.write_all_at(&[byte[0] ^ 1], at).expect("room");
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_terrace"));
        command.arg("heap").args(arguments);
        command.current_dir(self.0.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("terrace runs")
    }

    /// What it prints when it does as told, saying nothing to people.
    fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {error}");
        assert_eq!(error, "", "{arguments:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    fn json(&self, arguments: &[&str]) -> Value {
        checked(serde_json::from_str(&self.done(arguments)).expect("JSON"))
    }

    /// Checks that it ends with `code` and this sentence; what it prints besides.
    fn refused(&self, arguments: &[&str], code: i32, sentence: &str) -> String {
        let output = self.run(arguments);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
        assert_eq!(text, format!("terrace: {sentence}\n"), "{arguments:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Checks that it ends with `code` and a sentence with this part; what it prints besides.
    fn refused_with(&self, arguments: &[&str], code: i32, part: &str) -> String {
        let output = self.run(arguments);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
        assert!(text.contains(part), "{arguments:?}: {text}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// The offset of the first item of the dump that has all of this in its line.
    fn find(&self, what: &[&str]) -> u64 {
        let dump = self.done(&["dump", "app.pool"]);
        let line = dump
            .lines()
            .find(|line| what.iter().all(|what| line.contains(what)));
        let line = line.expect("such an item");
        line.split_whitespace()
            .next()
            .and_then(|at| at.parse().ok())
            .expect("an offset")
    }
}

#[test]
fn how_a_pool_is_filled() {
    let pool = Pool::new();
    let before = fs::read(pool.file()).expect("the pool");
    let text = pool.done(&["info", "app.pool"]);
    for line in [
        "app.pool: 1.00 MiB, 256 chunks of 4.00 KiB; format version 5, 2 lanes",
        "it was closed: nothing is left to be recovered",
        "32 objects of 13.5 KiB in 17.4 KiB of slots and chunks (78 % filled), 2 of them large",
        "log of object records: 32 of 384 places hold one (8 %)",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let info = pool.json(&["info", "--json=-", "app.pool"]);
    assert_eq!(info["schema"], "terrace.heap.info/1");
    assert_eq!(
        (&info["objects"], &info["large_objects"]),
        (&32.into(), &2.into())
    );
    assert_eq!(info["chunks"]["records"], 3);
    assert_eq!(info["classes"][0]["slot_bytes"], 48);
    assert_eq!(info["roots"][0]["name"], "large one");
    assert_eq!(info["roots"][0]["kind"], 5);
    assert_eq!(info["unsettled"], Value::Array(Vec::new()));
    assert!(fs::read(pool.file()).expect("the pool") == before);
}

#[test]
fn what_lies_where() {
    let pool = Pool::new();
    let dump = pool.done(&["dump", "app.pool"]);
    for what in ["header", "chunk", "lane", "intent", "record", "root"] {
        assert!(
            dump.lines()
                .any(|line| line.split_whitespace().nth(1) == Some(what)),
            "{what}"
        );
    }
    let lines = pool.done(&["dump", "--json=-", "app.pool"]);
    let items: Vec<Value> = lines
        .lines()
        .map(|line| checked_as("heap.dump", serde_json::from_str(line).expect("JSON")))
        .collect();
    assert_eq!(items.len(), dump.lines().count());
    assert_eq!(items[0]["what"], "header");
    let root = items
        .iter()
        .find(|item| item["name"] == "\"large one\"")
        .expect("a root");
    let object = root["pointer"].to_string();
    let text = pool.done(&["dump", "--object", &object, "app.pool"]);
    assert!(
        text.contains("78 78 78 78 78 78 78 78  xxxxxxxxxxxxxxxx"),
        "{text}"
    );
    let hex = format!("0x{:x}", root["pointer"].as_u64().expect("a number") + 77);
    let found = pool.json(&["dump", "--json", "--object", &hex, "app.pool"]);
    assert_eq!(found["schema"], "terrace.heap.object/1");
    assert_eq!(found["record"]["bytes"], 10_000);
    assert_eq!(found["hex"], "78".repeat(10_000));

    let sentence =
        "app.pool: no object lies at 8 of the pool; the dump without it names those that do";
    pool.refused(&["dump", "--object", "8", "app.pool"], 2, sentence);
    let output = pool.run(&["dump", "--object", "here", "app.pool"]);
    assert_eq!(output.status.code(), Some(2));
    let why = "`here` is no offset; write it as 16384 or 0x4000";
    assert!(String::from_utf8_lossy(&output.stderr).contains(why));
}

#[test]
fn a_reader_may_stop_after_the_first_line() {
    let pool = Pool::new();
    let mut child = pool
        .command(&["dump", "app.pool"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("terrace runs");
    drop(child.stdout.take());
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let pool = Pool::new();
    assert_eq!(
        pool.done(&["check", "app.pool"]),
        "app.pool: nothing is wrong\n"
    );
    let sound = pool.json(&["check", "--json=-", "app.pool"]);
    assert_eq!(
        (&sound["schema"], &sound["sound"]),
        (&"terrace.heap.check/1".into(), &true.into())
    );

    let record = pool.find(&["record", "bytes=48"]);
    pool.flip(record + 8);
    let found = pool.refused(&["check", "app.pool"], 1, "app.pool: something is wrong");
    let finding = format!("app.pool: at byte {record}, the record of an object is damaged\n");
    assert_eq!(found, finding);

    let root = pool.find(&["root", "table"]);
    pool.flip(root + 30);
    let many = "app.pool: 2 things are wrong";
    let found = pool.refused(&["check", "app.pool"], 1, many);
    let another = format!("app.pool: at byte {root}, the root is damaged\n");
    assert_eq!(found, finding + &another);
    let found = pool.refused(&["check", "--json=-", "app.pool"], 1, many);
    let found = checked(serde_json::from_str(&found).expect("JSON"));
    assert_eq!(found["sound"], false);
    assert_eq!(found["findings"][1]["offset"], root);
    // The dump goes on where it can.
    let dump = pool.done(&["dump", "app.pool"]);
    assert_eq!(dump.matches("is damaged").count(), 2, "{dump}");
}

#[test]
fn a_pool_that_is_damaged_is_refused_with_a_sentence() {
    for (at, sentence) in [
        (
            0,
            "this is no pool: it does not begin with TERRHEAP".to_owned(),
        ),
        (
            9,
            "the pool's header is damaged: its checksum is wrong".to_owned(),
        ),
        (
            8,
            "the pool's header is damaged: its checksum is wrong".to_owned(),
        ),
        (
            16,
            "the pool's header is damaged: its checksum is wrong".to_owned(),
        ),
        (
            64,
            "the pool's header is damaged: the count at byte 64 is wrong".to_owned(),
        ),
        (
            512,
            "the pool is damaged: at byte 512, the word about chunk 1 is damaged".to_owned(),
        ),
        (
            4096,
            "the pool is damaged: at byte 4096, the state of lane 0 is damaged".to_owned(),
        ),
    ] {
        let pool = Pool::new();
        pool.flip(at);
        let sentence = format!("app.pool: {sentence}");
        pool.refused(&["info", "app.pool"], 1, &sentence);
        pool.refused(&["compact", "app.pool"], 1, &sentence);
        let found = pool.refused(&["check", "app.pool"], 1, "app.pool: something is wrong");
        assert!(
            found.starts_with(&format!("app.pool: at byte {}", at / 64 * 64)),
            "{found}"
        );
    }
    let pool = Pool::new();
    let (record, root) = (pool.find(&[" record "]), pool.find(&["root", "table"]));
    pool.flip(root + 10);
    let sentence = format!("app.pool: the pool is damaged: at byte {root}, the root is damaged");
    pool.refused(&["info", "app.pool"], 1, &sentence);
    pool.flip(record);
    let sentence = format!(
        "app.pool: the pool is damaged: at byte {record}, the record of an object is damaged"
    );
    pool.refused(&["info", "app.pool"], 1, &sentence);
}

#[test]
fn a_pool_that_was_cut_off_is_refused_with_a_sentence() {
    let pool = Pool::new();
    let cut = |len| {
        let file = OpenOptions::new()
            .write(true)
            .open(pool.file())
            .expect("the pool");
        file.set_len(len).expect("a file can be cut off");
    };
    cut((1 << 20) - 1);
    let sentence = "app.pool: the pool is truncated: it has 1044480 bytes of 1048576";
    pool.refused(&["info", "app.pool"], 1, sentence);
    pool.refused(&["compact", "app.pool"], 1, sentence);
    let found = pool.refused(&["check", "app.pool"], 1, "app.pool: something is wrong");
    assert!(
        found.contains("at byte 64, the pool is truncated: it has 1044480 bytes of 1048576"),
        "{found}"
    );
    // So few that nothing of it is left to look at.
    cut(4096);
    let found = pool.refused(&["check", "app.pool"], 1, "app.pool: 2 things are wrong");
    assert!(found.contains("the lanes are not in the pool"), "{found}");
    pool.refused(
        &["dump", "app.pool"],
        1,
        "app.pool: the pool's header is damaged: the lanes are not in the pool",
    );
    cut(100);
    let sentence = "app.pool has 100 bytes, and a pool has 4096 at least; it was cut off, or is \
                    something else";
    pool.refused(&["check", "app.pool"], 1, sentence);
    cut(0);
    let sentence = "app.pool is empty and no pool; remove it and create a pool there";
    pool.refused(&["check", "app.pool"], 1, sentence);
}

#[test]
fn what_is_no_pool_is_refused_with_a_sentence() {
    let pool = Pool::new();
    fs::write(pool.0.path().join("text"), "x".repeat(5000)).expect("a file");
    let sentence = "text: this is no pool: it does not begin with TERRHEAP";
    for command in ["info", "dump", "compact"] {
        pool.refused(&[command, "text"], 1, sentence);
        let missing = "none is not there; create a pool first";
        pool.refused(&[command, "none"], 2, missing);
        let folder = ". is not a regular file; name one that was created as a pool";
        pool.refused(&[command, "."], 2, folder);
    }
    let found = pool.refused(&["check", "text"], 1, "text: something is wrong");
    assert_eq!(
        found,
        "text: at byte 0, this is no pool: it does not begin with TERRHEAP\n"
    );
}

#[test]
fn holes_of_what_is_no_pool_stay_holes() {
    let pool = Pool::new();
    let (none, damaged) = (pool.0.path().join("none"), pool.0.path().join("damaged"));
    fs::write(&none, "x").expect("a file");
    let mut bytes = fs::read(pool.file()).expect("the pool");
    bytes[4096] ^= 1;
    fs::write(&damaged, bytes).expect("a file");
    for (name, file) in [("none", none), ("damaged", damaged)] {
        let file = OpenOptions::new().write(true).open(file).expect("a file");
        file.set_len(1 << 30).expect("a file with a hole");
        let before = file.metadata().expect("a file").blocks();
        let output = pool.run(&["compact", name]);
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert_eq!(file.metadata().expect("a file").blocks(), before, "{name}");
    }
}

#[test]
fn holes_of_a_pool_are_given_room_which_is_said_first() {
    let pool = Pool::new();
    let file = OpenOptions::new().write(true).open(pool.file());
    let file = file.expect("the pool");
    file.set_len(9 << 20).expect("a hole of 8 MiB");
    let output = pool.run(&["compact", "app.pool"]);
    let said = String::from_utf8_lossy(&output.stderr);
    let expected =
        "terrace: app.pool: 8.00 MiB of it are holes, which are given room on the disk first";
    assert!(said.starts_with(expected), "{said}");
    assert!(output.status.success(), "{said}");
    assert!(file.metadata().expect("the pool").blocks() * 512 >= 9 << 20);
    pool.done(&["compact", "app.pool"]);

    // More than any disk has room for.
    file.set_len(1 << 43).expect("a hole");
    let before = file.metadata().expect("the pool").blocks();
    let output = pool.run(&["compact", "app.pool"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("8.00 TiB of it are holes"), "{said}");
    assert!(
        said.contains("do not fit on the file system of app.pool"),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(file.metadata().expect("the pool").blocks(), before);
}

#[test]
fn a_pool_that_is_open_is_refused_with_a_sentence() {
    let pool = Pool::new();
    let heap = Heap::open(pool.file()).expect("a pool");
    let sentence = "app.pool is open already, here or in another program; close it there first";
    for command in ["info", "check", "dump", "compact"] {
        pool.refused(&[command, "app.pool"], 2, sentence);
    }
    drop(heap);
    // Several processes may look at the same time.
    let looking = File::open(pool.file()).expect("the pool");
    looking.try_lock_shared().expect("it is not locked");
    pool.done(&["check", "app.pool"]);
    pool.refused(&["compact", "app.pool"], 2, sentence);
}

#[test]
fn a_pool_that_was_not_closed() {
    let pool = Pool::new();
    let heap = Heap::open(pool.file()).expect("a pool");
    let place: Place<Object> = heap.root("late", 0).expect("room");
    heap.publish(place, &[1; 6]).expect("room");
    let left = fs::read(pool.file()).expect("the pool");
    fs::copy(pool.file(), pool.0.path().join("copy")).expect("a copy");
    drop(heap);
    // As a crash would have left it.
    fs::write(pool.file(), left).expect("room");
    let text = pool.done(&["info", "app.pool"]);
    let line = "it was not closed: opening it makes the last operations certain (1 operation in 1 \
                lane, 0 B in transaction logs)";
    assert!(text.contains(line), "{text}");
    pool.done(&["check", "app.pool"]);
    pool.done(&["dump", "app.pool"]);

    // The copy is told from the original.
    let sentence = "this file was copied from a pool that was open, or that a crash has left";
    for command in ["info", "compact"] {
        pool.refused_with(&[command, "copy"], 1, sentence);
    }
    let found = pool.refused_with(&["check", "copy"], 1, "something is wrong");
    assert!(found.contains(sentence), "{found}");
    let error = Heap::open(pool.0.path().join("copy"))
        .err()
        .expect("a copy");
    assert!(error.to_string().contains(sentence), "{error}");
    let output = pool.run(&["copy", "copy", "new"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("it was copied while it was open"), "{said}");
    assert!(output.status.success());
    pool.done(&["check", "new"]);
}

#[test]
fn a_pool_is_copied_unless_it_is_open() {
    let pool = Pool::new();
    let heap = Heap::open(pool.file()).expect("a pool");
    let sentence =
        "or have the program that has it open for writing copy it (Heap::copy, nvm_copy)";
    pool.refused_with(&["copy", "app.pool", "new"], 2, sentence);
    heap.copy(pool.0.path().join("by-owner")).expect("room");
    drop(heap);
    // The same process may open copies of its own and of other tools when the pool was closed.
    fs::copy(pool.file(), pool.0.path().join("closed")).expect("a copy");
    let text = pool.done(&["copy", "app.pool", "new"]);
    assert_eq!(text, "app.pool: copied to new\n");
    for file in ["new", "closed", "by-owner"] {
        pool.done(&["check", file]);
        let heap = Heap::open(pool.0.path().join(file)).expect("a pool");
        assert_eq!(heap.objects().expect("it is open").len(), 32);
    }
    pool.refused_with(&["copy", "app.pool", "new"], 2, "new is there already");
    pool.refused_with(&["copy", "missing", "newer"], 2, "missing is not there");
}

/// One bit of a value is damaged: with checksums it is found, and all else is salvaged.
#[test]
fn a_damaged_pool_is_salvaged() {
    let pool = Pool(tempfile::tempdir().expect("a directory"));
    let text = pool.done(&["create", "app.pool", "1M", "--checksums", "on"]);
    assert_eq!(
        text,
        "app.pool: a pool of 1.00 MiB, with checksums of contents\n"
    );
    pool.refused_with(
        &["create", "app.pool", "1M"],
        2,
        "app.pool is there already",
    );
    let heap = Heap::open(pool.file()).expect("a pool");
    let visits = BTreeMap::<str, str>::open(&heap, "visits").expect("room");
    for i in 0..100 {
        let value = format!("value {i} of all");
        visits.insert(&i.to_string(), &value).expect("room");
    }
    pool.refused_with(&["salvage", "app.pool", "new"], 2, "is open already");
    drop(visits);
    heap.close().expect("it is closed");
    let text = pool.done(&["salvage", "app.pool", "whole", "--checksums", "off"]);
    let all = "visits: 100 entries\napp.pool: all of it was salvaged to whole\n";
    assert_eq!(text, all);
    pool.done(&["check", "whole"]);

    let (bytes, part) = (fs::read(pool.file()).expect("the pool"), b"value 77 of");
    let places = bytes.windows(part.len()).enumerate();
    for (at, _) in places.filter(|(_, window)| window == part) {
        pool.flip(at as u64);
    }
    pool.refused_with(&["check", "app.pool"], 1, "something is wrong");
    let output = pool.run(&["salvage", "--json=-", "app.pool", "newest"]);
    assert_eq!(output.status.code(), Some(3));
    let said = checked(serde_json::from_slice(&output.stdout).expect("JSON"));
    assert_eq!(said["schema"], "terrace.heap.salvage/1");
    let expected = json!([
        {"name": "visits", "entries": 99, "entries_lost": 1, "parts_lost": 0}
    ]);
    assert_eq!(
        (&said["salvaged"], &said["containers"]),
        (&json!("part"), &expected)
    );
    assert_eq!(
        (
            said["findings"].as_array().map(Vec::len),
            &said["more_findings"]
        ),
        (Some(1), &json!(0))
    );
    pool.refused_with(
        &["salvage", "--json=newer", "app.pool", "newer"],
        2,
        "newer",
    );
    let output = pool.run(&["salvage", "app.pool", "new"]);
    assert_eq!(output.status.code(), Some(3));
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(
        text.starts_with("visits: 99 entries, 1 lost\nat byte "),
        "{text}"
    );
    assert!(
        text.ends_with("app.pool: a part of it was salvaged to new\n"),
        "{text}"
    );
    pool.done(&["check", "new"]);
    pool.refused_with(&["salvage", "app.pool", "new"], 2, "new");

    // A pool with nothing but the program's own objects.
    let own = Pool::new();
    let output = own.run(&["salvage", "app.pool", "new"]);
    assert_eq!(output.status.code(), Some(4));
    own.refused_with(&["salvage", "missing", "newer"], 2, "missing is not there");
}

#[test]
fn a_container_is_removed_with_all_that_it_holds() {
    let pool = Pool::new();
    let before = pool.json(&["info", "--json=-", "app.pool"]);
    let heap = Heap::open(pool.file()).expect("a pool");
    let map = BTreeMap::<str, [u8]>::open(&heap, "visits").expect("room");
    for i in 0..100 {
        map.insert(&format!("{i}"), &vec![1; 30 * i]).expect("room");
    }
    drop((map, heap));
    pool.refused_with(
        &["remove", "app.pool", "visitors"],
        2,
        "it has no container \"visitors\"",
    );
    pool.refused_with(&["remove", "app.pool", "table"], 2, "is that of an object");
    let text = pool.done(&["remove", "app.pool", "visits"]);
    assert_eq!(text, "app.pool: the container \"visits\" was removed\n");
    let after = pool.json(&["info", "--json=-", "app.pool"]);
    assert_eq!(after["objects"], before["objects"]);
    assert_eq!(after["roots"], before["roots"]);
    pool.done(&["check", "app.pool"]);
}

#[test]
fn of_many_findings_a_hundred_are_listed_and_the_rest_counted() {
    let pool = Pool::new();
    let record = pool.find(&["use=records"]);
    // The records of a chunk, of which each has 32 bytes.
    (0..120).for_each(|i| pool.flip(record / 4096 * 4096 + i * 32 + 24));
    let output = pool.run(&["check", "app.pool"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.lines().count() == 101, "{text}");
    let last = text.lines().last().expect("a line");
    assert!(
        last.ends_with(" more, which --json and --csv list"),
        "{last}"
    );
}

#[test]
fn records_are_compacted() {
    let pool = Pool::new();
    let text = pool.done(&["compact", "app.pool"]);
    assert_eq!(text, "app.pool: 8.00 KiB became free\n");
    assert_eq!(
        pool.json(&["info", "--json=-", "app.pool"])["chunks"]["records"],
        1
    );
    pool.done(&["check", "app.pool"]);
    let again = pool.done(&["compact", "app.pool"]);
    assert_eq!(again, "app.pool: no chunk could be emptied\n");
    let again = pool.json(&["compact", "--json=-", "app.pool"]);
    assert_eq!(again["schema"], "terrace.heap.compact/1");
    assert_eq!(again["bytes_freed"], 0);
    assert_eq!(again["objects_moved"], 0);
}

#[test]
fn what_containers_hold_moves() {
    let pool = Pool::new();
    let work = || {
        let heap = Heap::open(pool.file())?;
        heap.grow(2 << 20)?;
        let tree = BTreeMap::<u64, [u8]>::open(&heap, "tree")?;
        for key in 0..3000 {
            tree.insert(&key, &[key as u8; 200])?;
        }
        for key in (0..3000).filter(|key| key % 20 > 0) {
            tree.remove(&key)?;
        }
        heap.close()
    };
    work().expect("a pool");
    let done = pool.json(&["compact", "--json=-", "app.pool"]);
    assert!(done["bytes_freed"].as_u64() > Some(16 << 10), "{done}");
    assert!(done["objects_moved"].as_u64() > Some(100), "{done}");
    pool.done(&["check", "app.pool"]);
    let heap = Heap::open(pool.file()).expect("the pool");
    let tree = BTreeMap::<u64, [u8]>::open(&heap, "tree").expect("the tree");
    assert_eq!(tree.len(), Ok(150));
    assert_eq!(tree.get(&2980), Ok(Some(vec![164; 200])));
}

/// One container of two is damaged: the other one is compacted, and the damage is said.
#[test]
fn a_damaged_container_is_left_out_and_named() {
    let pool = Pool(tempfile::tempdir().expect("a directory"));
    pool.done(&["create", "app.pool", "8M", "--checksums", "on"]);
    let work = || {
        let heap = Heap::open(pool.file())?;
        for name in ["one", "two"] {
            let tree = BTreeMap::<u64, str>::open(&heap, name)?;
            for key in 0..3000 {
                tree.insert(&key, &format!("{name} has {key}, {}", "x".repeat(180)))?;
            }
            for key in (0..3000).filter(|key| key % 20 > 0) {
                tree.remove(&key)?;
            }
        }
        heap.close()
    };
    work().expect("a pool");
    let (bytes, part) = (fs::read(pool.file()).expect("the pool"), b"two has 2980,");
    let places = bytes.windows(part.len()).enumerate();
    for (at, _) in places.filter(|(_, window)| window == part) {
        pool.flip(at as u64);
    }
    let output = pool.run(&["compact", "--json=-", "app.pool"]);
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("1 damaged container was left out"),
        "{error}"
    );
    let done = checked(serde_json::from_slice(&output.stdout).expect("JSON"));
    assert_eq!(done["skipped"][0]["name"], "two");
    assert!(done["objects_moved"].as_u64() > Some(20), "{done}");
    let output = pool.run(&["compact", "app.pool"]);
    let text = String::from_utf8_lossy(&output.stdout);
    let sentence = "the container \"two\" is damaged and was left out: ";
    assert!(text.contains(sentence), "{text}");
    let heap = Heap::open(pool.file()).expect("the pool");
    let tree = BTreeMap::<u64, str>::open(&heap, "one").expect("the tree");
    assert_eq!(tree.iter().filter(|entry| entry.is_ok()).count(), 150);
}

#[test]
fn help_teaches_with_examples() {
    let pool = Pool::new();
    for arguments in [
        &["--help"][..],
        &["info", "--help"],
        &["check", "--help"],
        &["dump", "--help"],
        &["compact", "--help"],
        &["copy", "--help"],
        &["create", "--help"],
        &["remove", "--help"],
        &["salvage", "--help"],
    ] {
        let help = pool.done(arguments);
        assert!(
            help.contains("Example") && help.contains("app.pool"),
            "{help}"
        );
    }
}

//! Results stay what they were, to the byte: what an earlier build printed lies in `expected`.
//!
//! Every field there must be there still, with the same text of the same number; fields may be
//! added. A change that means to change a result writes the expectations anew, by the build that
//! is to be followed, and shows in its diff which figures moved:
//!
//!     TERRACE_GOLDEN_BY=target/debug/terrace cargo test -p terrace --test golden

mod leaves;
#[path = "../common/schema.rs"]
mod schema;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use terrace_heap::{Heap, Mode, Options, Place, Ptr};
use terrace_trace::changes::{Change, Word};
use terrace_trace::{Access, Block};

/// What is simulated: generated traces, each with the options that make it.
const TRACES: [(&str, &str); 5] = [
    ("zipf", "--accesses 40K --footprint 4M --writes 30 --seed 7"),
    ("sequential", "--accesses 30K --footprint 1M --writes 25"),
    ("strided", "--accesses 20K --footprint 8M --stride 8K"),
    ("matmul", "--accesses 60K --footprint 1M --block 32"),
    ("gups", "--accesses 30K --footprint 2M"),
];

/// A measured machine, as `terrace calibrate --machine` writes it.
const MACHINE: &str = r#"name = "a disk"

[tier]
read = 53000
write = 10000
channels = 3
bandwidth = 784000000

[fault]
name = "measured"
trap = 900
kernel = 5100
copy = 450
map = 700
unmap = 300
write_out = 1200
write_again = 2300
shootdown = "interrupt"
shootdown_on_map = false
prefetch = 0
"#;

/// Texts for people, which may be said better at any time.
const WORDS: [&str; 7] = [
    "warning", "summary", "paper", "when", "meaning", "values", "option",
];

/// A directory with everything that the commands below read.
fn inputs(terrace: &Path) -> TempDir {
    let directory = TempDir::new().expect("a directory");
    for (kind, options) in TRACES {
        let output = format!("trace gen {kind} -q -o {kind}.parquet {options}");
        run(terrace, directory.path(), &output);
    }
    fs::write(directory.path().join("machine.toml"), MACHINE).expect("room");
    pool(&directory.path().join("app.pool")).expect("a pool");
    contents(&directory.path().join("contents.parquet")).expect("a trace");
    routes(directory.path());
    directory
}

/// A routing table of both families, and updates of some of its prefixes, of which every third
/// withdraws one.
fn routes(directory: &Path) {
    let prefix = |n: u32| match n % 4 {
        0 => format!("2001:db8:{n:x}::/48"),
        1 => format!("10.{}.0.0/16", n / 4),
        _ => format!("172.16.{}.0/24", n / 4 * 2 + n % 2),
    };
    let table: String = (0..400)
        .map(|n| format!("{} p{}\n", prefix(n), n % 5))
        .collect();
    let update = |n: u32| {
        let (at, prefix) = (f64::from(n) / 4.0, prefix(n * n % 199 + n % 7 * 40));
        match n % 3 {
            0 => format!("{at} - {prefix}\n"),
            _ => format!("{at} + {prefix} p{}\n", n % 4),
        }
    };
    let updates: String = (0..2000).map(update).collect();
    fs::write(directory.join("table.txt"), table).expect("room");
    fs::write(directory.join("updates.txt"), updates).expect("room");
}

/// A trace with contents: 20 pages are written at random, some words at a time, all of a page now
/// and then.
fn contents(file: &Path) -> terrace_trace::Result<()> {
    let mut state = 7_u64;
    let mut random = |most: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % most
    };
    let mut versions = [0_u32; 20];
    let mut block = Block::default();
    for instruction in 0..2000 {
        let page = random(20);
        let version = &mut versions[page as usize];
        *version += 1;
        let count = if random(9) == 0 {
            512
        } else {
            random(4) as u16
        };
        let word = |index| Word {
            index,
            value: random(3) * random(1 << 20),
        };
        let words: Vec<Word> = (0..count).map(word).collect();
        block.push(Access {
            instruction: 10 * instruction,
            address: page << 12,
            size: 8,
            write: count > 0,
            ..Access::default()
        });
        let version = *version;
        block.changes.push(Change {
            words: &words,
            version,
            checksum: 0,
        });
    }
    let mut sink = terrace_trace::create(file, &[])?;
    sink.write(&block)?;
    sink.finish()
}

/// A pool with objects of two sizes, of which some were freed again.
fn pool(file: &Path) -> terrace_heap::Result<()> {
    let options = Options::default().chunk_bytes(4096).lanes(2);
    let heap = Heap::create_with(file, 1 << 20, Mode::Lines, &options)?;
    let root: Place<[Ptr<[u64; 6]>; 100]> = heap.root("table", 0)?;
    let table = heap.publish(root, &[Ptr::NULL; 100])?;
    for index in 0..100 {
        heap.publish(table.field(index * 8), &[index as u64; 6])?;
    }
    for index in (0..100).filter(|index| index % 4 != 0) {
        heap.free::<[u64; 6]>(table.field(index * 8))?;
    }
    let large: Place<[u8; 10000]> = heap.root("large", 0)?;
    heap.publish(large, &[b'x'; 10000]).map(drop)
}

/// What the command prints.
fn run(terrace: &Path, directory: &Path, command: &str) -> String {
    let output = Command::new(terrace)
        .args(command.split_whitespace())
        .current_dir(directory)
        .output()
        .expect("terrace runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "terrace {command}: {error}");
    String::from_utf8(output.stdout).expect("text")
}

/// Checks that a command, which prints JSON or writes the file `name`, still says what is expected.
fn check(name: &str, command: &str) {
    let expected = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden/expected")
        .join(name);
    let found = |terrace: &Path| {
        let directory = inputs(terrace);
        let printed = run(terrace, directory.path(), command);
        match fs::read_to_string(directory.path().join(name)) {
            Ok(written) => written,
            Err(_) => printed,
        }
    };
    if let Some(earlier) = std::env::var_os("TERRACE_GOLDEN_BY") {
        let earlier = PathBuf::from(earlier).canonicalize().expect("a build");
        let lines: Vec<_> = found(&earlier)
            .lines()
            .map(str::trim_start)
            .map(str::to_owned)
            .collect();
        fs::write(&expected, lines.join("\n") + "\n").expect("room");
    }
    let before = leaves_of(name, &fs::read_to_string(&expected).expect("expectations"));
    let now = found(env!("CARGO_BIN_EXE_terrace").as_ref());
    if name.ends_with(".json") {
        schema::checked(serde_json::from_str(&now).expect("JSON"));
    }
    let now = leaves_of(name, &now);
    assert!(before.len() > 10, "{name}: nothing is expected");
    let differences = differences(&before, &now);
    assert!(
        differences.is_empty(),
        "terrace {command}: {} of {} values differ:\n{}",
        differences.len(),
        before.len(),
        differences[..differences.len().min(20)].join("\n")
    );
}

fn leaves_of(name: &str, text: &str) -> BTreeMap<String, String> {
    match name.ends_with(".csv") {
        true => leaves::of_csv(text),
        false => leaves::of_json(text),
    }
}

/// Every value of `before` that is not the same `now`.
fn differences(before: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Vec<String> {
    let is_word = |path: &str| {
        let field = path.rsplit('.').next().unwrap_or(path);
        WORDS.contains(&field)
    };
    let differs = before
        .iter()
        .filter(|(path, value)| !is_word(path) && now.get(*path) != Some(value));
    differs
        .map(|(path, value)| match now.get(path) {
            Some(now) => format!("{path}: {now}, was {value}"),
            None => format!("{path}: missing, was {value}"),
        })
        .collect()
}

#[test]
fn sim_pages_of_several_machines() {
    check(
        "machines.json",
        "sim pages -q --dram 12.5%,40% --memory pcm,flash --warmup 1000 \
         zipf.parquet --json",
    );
}

#[test]
fn sim_pages_of_policies_and_two_programs() {
    check(
        "policies.json",
        "sim pages -q --dram 300p --replacement 2q,age,arc,cflru,lirs,random,s3fifo \
         --eviction-buffer 4 zipf.parquet gups.parquet --json",
    );
}

#[test]
fn sim_pages_with_prefetchers() {
    check(
        "prefetchers.json",
        "sim pages -q --dram 25% --memory flash --replacement linux \
         --prefetch readahead,auto,stream:depth=16,corp,oracle \
         strided.parquet --json",
    );
}

#[test]
fn sim_pages_of_a_measured_machine() {
    check(
        "measured.json",
        "sim pages -q --dram 25% --machine machine.toml --prefetch off,spatial \
         --inclusion exclusive sequential.parquet --json",
    );
}

#[test]
fn sim_pages_with_control() {
    check(
        "control.json",
        "sim pages -q --dram 8M --memory flash --instruction-time 40ns --access-time 4us --control none,fixed:dram=400K,every=1ms,\
         senpai:pressure=0.5,ratio=0.2,every=1ms,slowdown:goal=0.1,window=20ms,most=0.3,rest=1ms,longest=9ms,every=1ms \
         zipf.parquet strided.parquet --json",
    );
}

#[test]
fn sim_pages_with_write_schemes() {
    check(
        "writes.json",
        "sim pages -q --dram 7p --eviction-buffer 0 --memory pcm-row --warmup 400 --write page,mfwr,dcw,flip-n-write:pin=off \
         --levelling none,start-gap:psi=10,randomised contents.parquet --json",
    );
}

#[test]
fn tcam_replay_with_orderings() {
    check(
        "tcam.json",
        "tcam replay -q --table table.txt --updates updates.txt --rows 16 --blocks 64 --shadow-rows 24 --buffers 1 \
         --policy unchanged+coalesce+damping+lazy --levelling start-gap --orderings --json",
    );
}

#[test]
fn tcam_lookup_of_both_families() {
    check(
        "tcam-lookup.json",
        "tcam lookup --table table.txt --rows 16 10.3.2.1 172.16.8.9 2001:db8:4::1 9.9.9.9 --json",
    );
}

#[test]
fn the_timeline_of_sim_pages() {
    check(
        "timeline.csv",
        "sim pages -q --dram 25% --prefetch stream --timeline timeline.csv --timeline-epoch 1000 \
         strided.parquet --json",
    );
}

#[test]
fn a_sweep_with_a_write_scheme() {
    check(
        "sweep-writes.csv",
        "sweep -q --dram 7p,12p --memory pcm-row --warmup 400 --eviction-buffer 0 --staging 0,3 --write mfwr \
         --levelling none -o sweep-writes contents.parquet",
    );
}

#[test]
fn a_sweep() {
    check(
        "sweep.csv",
        "sweep -q --dram 25%,50% --memory pcm --fault-cost linux,1400 --devices 1,2 \
         --prefetch off,leap -o sweep strided.parquet zipf.parquet",
    );
}

#[test]
fn sim_llc_of_several_policies() {
    check(
        "llc.json",
        "sim llc -q --policy lru,nhm:n=4,ari --llc 128K --l1 4K:2 --l2 16K:4 --epoch 4000 \
         zipf.parquet matmul.parquet --json=-",
    );
}

#[test]
fn sim_llc_that_reads_ahead_and_includes() {
    check(
        "llc-ahead.json",
        "sim llc -q --policy mockingjay:bypass=off --llc 16K --l1 4K:2 --l2 16K:4 --prefetch stride \
         --inclusion inclusive --memory pcm-row --json=- matmul.parquet",
    );
}

#[test]
fn sim_llc_that_excludes() {
    check(
        "llc-exclusive.json",
        "sim llc -q --policy lru,nhm:n=4 --llc 16K --l1 4K:2 --l2 16K:4 --inclusion exclusive \
         --prefetch next-line --memory pcm-row --json=- matmul.parquet",
    );
}

#[test]
fn sim_llc_that_writes_early() {
    check(
        "llc-early.json",
        "sim llc -q --policy lru,nhm:n=4,ari --llc 16K --l1 4K:2 --l2 off --write-back last-write \
         --memory pcm-row --json=- matmul.parquet",
    );
}

#[test]
fn sim_llc_with_memories_on_the_memory_side() {
    check(
        "memories.json",
        "sim llc -q --policy lru --llc 64K,128K --l1 4K:2 --l2 16K:4 --memory dram,pcm-row,dram/pcm-row \
         --dram-cache 256K --memory-size 64M gups.parquet --json=-",
    );
}

#[test]
fn sim_files_of_several_machines() {
    check(
        "files.json",
        "sim files -q --dram 256K --flash-size off,1M --organisation extended,multilevel,memory \
         --admission all,sequential:pages=8+second-read --budget 1G --interval 1ms --warmup 1000 zipf.parquet --json",
    );
}

#[test]
fn sim_curve_of_all_pages_and_of_samples() {
    check(
        "curve.json",
        "sim curve -q --dram 5%,50%,300p --replacement lru,arc,belady --rate 0.25 --samples 2 zipf.parquet --json",
    );
}

#[test]
fn trace_info() {
    check("trace.json", "trace info -q matmul.parquet --json");
}

#[test]
fn explain() {
    check("explain-memory.json", "explain pcm --json");
    check("explain-predictor.json", "explain stream --json");
}

#[test]
fn heap_info() {
    check("heap.json", "heap info app.pool --json");
}

#[test]
fn a_changed_figure_and_a_missing_one_are_seen() {
    let of = |text| leaves::of_json(text);
    let before = of(r#"{"a": {"b": [1, 2.50], "warning": "x"}, "c": null}"#);
    assert_eq!(differences(&before, &before), [""; 0]);
    let now = of(r#"{"d": 1, "a": {"b": [1, 2.5], "warning": "y"}}"#);
    assert_eq!(
        differences(&before, &now),
        ["a.b[1]: 2.5, was 2.50", "c: missing, was null"]
    );
    let (before, now) = ("x,y\n1,2\n3,4\n", "y,z,x\n2,0,1\n4,0,5\n");
    assert_eq!(
        differences(&leaves::of_csv(before), &leaves::of_csv(now)),
        ["[1].x: 5, was 3"]
    );
}

//! Real traces through the whole of `terrace sim llc`, against the slow models: a small program,
//! recorded here, and the traces in shared/data, where they are.

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;
use terrace_trace::{Access, Block, Columns};

use crate::ari;
use crate::command::{file, number, simulate, terrace, text};
use crate::common::{needs, shared_data};
use crate::slow::{Counts, Level, Private, Rule, Shape, last_level, lru};

/// A hierarchy: the options that make it, and its parts.
struct Hierarchy {
    options: &'static [&'static str],
    line: u64,
    private: [Option<Shape>; 2],
    llc: Shape,
    cores: u16,
}

/// That of table 2.1; one so small that everything happens in it; and one of odd sizes.
const HIERARCHIES: [Hierarchy; 3] = [
    Hierarchy {
        options: &[],
        line: 64,
        private: [Some((512, 2)), Some((512, 8))],
        llc: (2048, 16),
        cores: 1,
    },
    Hierarchy {
        options: &["--l1=4K:2", "--l2=16K:4", "--llc=128K", "--cores=2"],
        line: 64,
        private: [Some((32, 2)), Some((64, 4))],
        llc: (128, 16),
        cores: 2,
    },
    Hierarchy {
        options: &[
            "--l1=off",
            "--l2=9K:6",
            "--llc=72K",
            "--ways=12",
            "--line=32",
        ],
        line: 32,
        private: [None, Some((48, 6))],
        llc: (192, 12),
        cores: 1,
    },
];

/// LRU, and every static partitioning of the ways with each insertion, by name; where written
/// lines are inserted is a setting of ours, tried with some.
fn rules(ways: usize) -> Vec<(String, Rule)> {
    let mut rules = vec![("lru".to_owned(), lru(ways))];
    for high in 0..=ways {
        for (low, dirty_low) in [(false, false), (true, false), (false, true), (true, true)] {
            if dirty_low && !high.is_multiple_of(4) {
                continue;
            }
            let of = |low| if low { "lh" } else { "mru" };
            let name = format!("nhm:n={high},insert={},dirty={}", of(low), of(dirty_low));
            let rule = Rule {
                high,
                low,
                dirty_low,
            };
            rules.push((name, rule));
        }
    }
    rules
}

fn rows(trace: &Path) -> Vec<Access> {
    let mut source = terrace_trace::open(trace, Columns::ALL).unwrap();
    let (mut block, mut rows) = (Block::default(), Vec::new());
    while source.next_block(&mut block).unwrap() {
        rows.extend(block.iter());
    }
    rows
}

fn level(found: &Value) -> Level {
    let of = |key| found[key].as_u64().unwrap_or(0);
    Level {
        accesses: of("accesses"),
        misses: of("misses"),
        writebacks: of("writebacks"),
    }
}

fn counts(run: &Value) -> Counts {
    let of = |key: &str| run[key].as_u64().unwrap();
    let positions = run["hits_by_position"].as_array().unwrap();
    assert_eq!(of("writebacks"), of("evictions_dirty"));
    Counts {
        hits: of("hits"),
        misses: of("misses"),
        writeback_misses: of("writeback_misses"),
        evictions_clean: of("evictions_clean"),
        writebacks: of("writebacks"),
        hits_by_position: positions
            .iter()
            .map(|hits| hits.as_u64().unwrap())
            .collect(),
        dirty_at_end: of("dirty_at_end"),
    }
}

/// What ARI had in force at the end of each epoch.
fn in_force(run: &Value) -> Vec<ari::InForce> {
    let epoch = |epoch: &Value| {
        let high = epoch["high"].as_u64().unwrap() as usize;
        (high, epoch["low_insertion"].as_bool().unwrap())
    };
    run["epochs"]
        .as_array()
        .unwrap()
        .iter()
        .map(epoch)
        .collect()
}

/// Checks that both find the same in every hierarchy.
fn agree(trace: &Path) {
    let rows = rows(trace);
    let name = trace.to_str().unwrap();
    for hierarchy in HIERARCHIES {
        let Hierarchy {
            line,
            private,
            llc,
            cores,
            ..
        } = hierarchy;
        let rules = rules(llc.1);
        let policies: Vec<&str> = rules
            .iter()
            .map(|(name, _)| &**name)
            .chain(["ari"])
            .collect();
        let policies = policies.join(",");
        let epoch = format!("--epoch={}", ari::EPOCH);
        // Without a memory cores have no time of their own, and keep to the order of the trace.
        let options = ["--policy", &policies, &epoch, "--memory", "none", name];
        let found = simulate(&[hierarchy.options, &options].concat());
        assert_eq!(number(&found, "accesses"), rows.len() as f64);

        let slow = Private::of(&rows, line, private, cores);
        assert_eq!(
            [&found["l1"], &found["l2"]].map(level),
            slow.levels,
            "{name}"
        );
        let runs = found["runs"].as_array().unwrap();
        assert_eq!(runs.len(), rules.len() + 1);
        for ((policy, rule), run) in rules.iter().zip(runs) {
            assert_eq!(run["policy"], **policy);
            let expected = last_level(&slow.requests, llc, *rule);
            assert_eq!(counts(run), expected, "{policy} on {name}");
        }
        let (expected, epochs) = ari::last_level(&slow.requests, llc);
        let run = runs.last().unwrap();
        assert_eq!(in_force(run), epochs, "ari on {name}");
        assert_eq!(counts(run), expected, "ari on {name}");
    }
}

/// gzip packs, and sort sorts what comes out, as two processes.
#[test]
fn a_program_that_was_recorded() {
    needs("qemu-x86_64");
    let directory = TempDir::new().unwrap();
    let (input, trace) = (file(&directory, "input"), file(&directory, "trace.parquet"));
    let binary = std::fs::read(env!("CARGO_BIN_EXE_terrace")).unwrap();
    std::fs::write(&input, &binary[1_000_000..1_008_000]).unwrap();
    let script = format!("gzip -c {input} | od -An -tx1 | sort | tail -n 1");
    let output = terrace(&["record", "-q", "-o", &trace, "--", "sh", "-c", &script]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    agree(Path::new(&trace));
}

#[test]
#[ignore = "needs the traces of other people; run by make test-data"]
fn shared_data_gcc() {
    agree(&shared_data("address_gcc.trace.gz"));
}

#[test]
#[ignore = "needs the traces of other people; run by make test-data"]
fn shared_data_gzip() {
    agree(&shared_data("address_gzip.trace.gz"));
}

#[test]
#[ignore = "needs the traces of other people; run by make test-data"]
fn shared_data_mcf() {
    agree(&shared_data("address_mcf.trace.gz"));
}

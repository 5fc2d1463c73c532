//! Passes of sweeps as files: what is read is what was written, or it is told that it is not.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use proptest::prelude::*;
use terrace_device::Catalogue;
use terrace_results::sweep::{Passes, Row, table};
use terrace_sim::pages::{self, Grid, Outcome, SchemeOutcome, Simulated};
use terrace_sim::sweep::{Archive, Kept, Pass};
use terrace_sim::workload::Workload;
use terrace_trace::Digest;
use terrace_trace::generate::{self, Sequential};

fn key(of: u64) -> Digest {
    Digest::of(&of.to_le_bytes())
}

fn machine() -> Simulated {
    let grid = Grid::parse(&[("dram", "8p"), ("order", "plain")]).unwrap();
    let choice = grid.machines(&Catalogue::builtin()).unwrap().remove(0);
    let machine = choice.machine(16).unwrap();
    let trace = Sequential { writes: 50 }.source(&generate::KernelSettings {
        accesses: 2_000,
        footprint: terrace_base::Bytes(64 << 10),
        seed: 1,
    });
    let workload = Workload::new(vec![trace.unwrap()], None).unwrap();
    let outcome = pages::run(workload, vec![machine.clone()], None, |_| {});
    Simulated {
        dram: choice.dram(),
        machine,
        outcome: outcome.unwrap().remove(0),
    }
}

/// A pass of a workload on machines with these keys.
fn pass(trace: &str, workload: u64, machines: &[u64]) -> Pass {
    let simulated = machine();
    Pass {
        trace: trace.to_owned(),
        workload: key(workload),
        machines: machines
            .iter()
            .map(|one| (key(*one), simulated.clone()))
            .collect(),
    }
}

fn passes(directory: &Path) -> Passes {
    Passes::of(directory).unwrap()
}

fn read(directory: &Path, workload: u64) -> (Vec<Kept>, usize) {
    passes(directory)
        .read(&HashSet::from([key(workload)]))
        .unwrap()
}

/// The only file of a directory.
fn file(directory: &Path) -> PathBuf {
    fs::read_dir(directory)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path()
}

/// The traces that collected rows name.
fn traces(batches: &[RecordBatch]) -> Vec<String> {
    let names = batches
        .iter()
        .map(|batch| batch.column(0).as_string::<i32>().clone());
    names
        .flat_map(|names| {
            names
                .iter()
                .map(|name| name.unwrap().to_owned())
                .collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn others_see_what_one_adds() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results");
    let (one, other) = (passes(&path), passes(&path));
    assert!(!path.exists(), "nothing is finished");
    let all = [
        pass("a", 0, &[1, 2]),
        pass("a", 0, &[2, 3]),
        pass("b", 1, &[1]),
    ];
    one.add(&all[0]).unwrap();
    other.add(&all[1]).unwrap();
    other.add(&all[2]).unwrap();
    one.add(&all[0]).unwrap();
    assert_eq!(fs::read_dir(&path).unwrap().count(), 3);
    let (mut found, skipped) = read(&path, 0);
    found.sort_by_key(|pass| pass.machines[0].0 != key(1));
    assert_eq!((found, skipped), (vec![all[0].kept(), all[1].kept()], 0));
    assert_eq!(read(&path, 7), (Vec::new(), 0));
    // A machine that two passes have is there once.
    let collected = one.collect().unwrap();
    assert_eq!(traces(&collected.batches), ["a", "a", "a", "b"]);
    assert_eq!(collected.skipped, 0);
}

/// Any program that reads Parquet sees the table of a sweep.
#[test]
fn the_rows_are_those_of_the_table() {
    let directory = tempfile::tempdir().unwrap();
    let mut pass = pass("a", 0, &[1, 2]);
    // A row for each write scheme.
    let scheme = |scheme: &str| SchemeOutcome {
        scheme: scheme.to_owned(),
        ..SchemeOutcome::default()
    };
    let mut simulated = machine();
    simulated.outcome.schemes = ["page", "lines"].map(scheme).to_vec();
    pass.machines.push((key(3), simulated));
    passes(directory.path()).add(&pass).unwrap();
    let rows: Vec<_> = pass
        .machines
        .iter()
        .map(|(_, simulated)| Row {
            trace: "a".to_owned(),
            simulated: simulated.clone(),
        })
        .collect();
    let expected = table(&rows).batch().unwrap();
    assert_eq!(expected.num_rows(), 4);
    let collected = passes(directory.path()).collect().unwrap();
    assert_eq!(collected.batches, [expected]);
}

#[test]
fn what_is_no_result_is_passed_over() {
    let directory = tempfile::tempdir().unwrap();
    let error = passes(directory.path()).collect().unwrap_err().to_string();
    assert!(
        error.starts_with("there are no results of sweeps in `"),
        "{error}"
    );
    passes(directory.path()).add(&pass("a", 0, &[1])).unwrap();
    fs::write(directory.path().join("notes"), "notes").unwrap();
    fs::write(directory.path().join("other.parquet"), "PAR1").unwrap();
    assert_eq!(read(directory.path(), 0).1, 0);
    let collected = passes(directory.path()).collect().unwrap();
    assert_eq!(
        (traces(&collected.batches).len(), collected.skipped),
        (1, 1)
    );
    assert!(Passes::of(&directory.path().join("notes")).is_err());
}

/// An outcome with these figures.
fn outcome(slowdown: f64, years: Option<f64>) -> Outcome {
    let mut outcome = machine().outcome;
    outcome.programs[0].slowdown = slowdown;
    outcome.lifetime.even = years;
    outcome
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Infinities, and what is no number, too.
    #[test]
    fn figures_are_read_as_they_were(
        slowdown in prop::num::f64::ANY, years in prop::option::of(prop::num::f64::ANY),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let mut pass = pass("a", 0, &[1]);
        pass.machines[0].1.outcome = outcome(slowdown, years);
        passes(directory.path()).add(&pass).unwrap();
        let (mut found, _) = read(directory.path(), 0);
        let found = found.remove(0).machines.remove(0).1;
        prop_assert_eq!(found.programs[0].slowdown.to_bits(), slowdown.to_bits());
        prop_assert_eq!(found.lifetime.even.map(f64::to_bits), years.map(f64::to_bits));
    }

    /// A flipped bit may be one that means nothing; else nothing of the file is used.
    #[test]
    fn what_is_torn_or_damaged_is_counted(at in any::<prop::sample::Index>(), flip: u8) {
        let directory = tempfile::tempdir().unwrap();
        let pass = pass("a", 0, &[1]);
        passes(directory.path()).add(&pass).unwrap();
        let expected = passes(directory.path()).collect().unwrap().batches;
        let path = file(directory.path());
        let mut bytes = fs::read(&path).unwrap();
        let at = at.index(bytes.len());
        match flip {
            0 => bytes.truncate(at),
            flip => bytes[at] ^= flip,
        }
        fs::write(&path, bytes).unwrap();
        match read(directory.path(), 0) {
            (found, 0) => prop_assert_eq!(found, [pass.kept()]),
            (found, skipped) => prop_assert_eq!((found.len(), skipped), (0, 1)),
        }
        let collected = passes(directory.path()).collect().unwrap();
        match collected.skipped {
            0 => prop_assert_eq!(collected.batches, expected),
            skipped => prop_assert_eq!((collected.batches.len(), skipped), (0, 1)),
        }
        passes(directory.path()).add(&pass).unwrap();
        prop_assert_eq!(read(directory.path(), 0), (vec![pass.kept()], 0));
    }
}

//! A sweep against its slow twin: every machine on its own; stopped anywhere, it finds the same.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use proptest::prelude::*;
use tempfile::TempDir;
use terrace_device::Catalogue;
use terrace_sim::pages::{self, Choice, Foresight, Grid, Outcome, Survey};
use terrace_sim::sweep::{Output, Sweep, Trace};
use terrace_sim::workload::Workload;
use terrace_trace::{Access, Block, Columns, Reading};

/// 20 machines, four of them named twice.
fn machines() -> Vec<Choice> {
    let grid = Grid::parse(&[
        ("dram", "10%,50%,8p,32k,1000p"),
        ("replacement", "lru,arc,belady,random"),
        ("order", "plain"),
        ("eviction-buffer", "4"),
    ]);
    let grid = grid.unwrap();
    grid.machines(&Catalogue::builtin()).unwrap()
}

/// Three traces in a directory.
fn traces(directory: &Path) -> Vec<Trace> {
    let trace = |index: u64| {
        let path = directory.join(format!("{index}.parquet"));
        let mut sink = terrace_trace::create(&path, &[]).unwrap();
        let mut block = Block::default();
        let prime = [61, 67, 71][index as usize];
        for access in 0..2000u64 {
            block.push(Access {
                address: (access * access % prime) << 12,
                write: access % 3 == index,
                size: 8,
                ..Access::default()
            });
        }
        sink.write(&block).unwrap();
        sink.finish().unwrap();
        Trace {
            path,
            reading: Reading::default(),
            limit: (index == 2).then_some(500),
        }
    };
    (0..3).map(trace).collect()
}

/// Each machine on its own.
fn twin(trace: &Trace, machines: &[Choice]) -> Vec<Outcome> {
    let open = || {
        let source = terrace_trace::open(&trace.path, Columns::PAGES).unwrap();
        Workload::new(vec![source], trace.limit).unwrap()
    };
    let survey = Survey::of(open(), Foresight::Order, |_| {}).unwrap();
    let outcome = |machine: &Choice| {
        let settings = machine.machine(survey.footprint_pages).unwrap();
        let future = survey.future.as_ref();
        let outcomes = pages::run(open(), vec![settings], future, |_| {});
        outcomes.unwrap().remove(0)
    };
    machines.iter().map(outcome).collect()
}

/// What a sweep finds, how many were finished before, and the last that it said of its progress.
fn swept(traces: &[Trace], output: &Output) -> (Vec<Vec<Outcome>>, usize, (u64, usize)) {
    let machines = machines();
    let sweep = Sweep::open(traces, &machines, output).unwrap();
    let resumed = sweep.resumed();
    assert_eq!(sweep.machines(), traces.len() * machines.len());
    let left = sweep.left().expect("the traces know their length");
    let most = Mutex::new((0, resumed));
    let results = sweep.run(&|progress| {
        let mut most = most.lock().unwrap();
        *most = (most.0.max(progress.accesses), most.1.max(progress.finished));
    });
    let results = results.unwrap().traces.into_iter();
    let outcomes = results.map(|rows| rows.into_iter().map(|(_, outcome)| outcome).collect());
    let most = most.into_inner().unwrap();
    assert_eq!(most, (left, traces.len() * machines.len()));
    (outcomes.collect(), resumed, most)
}

fn output(directory: &TempDir) -> Output {
    Output::new(&directory.path().join("out")).unwrap()
}

#[test]
fn each_machine_finds_what_it_finds_alone() {
    let directory = tempfile::tempdir().unwrap();
    let (traces, output) = (traces(directory.path()), output(&directory));
    let alone: Vec<_> = traces
        .iter()
        .map(|trace| twin(trace, &machines()))
        .collect();
    assert_eq!(swept(&traces, &output).0, alone);
    let text = fs::read_to_string(&output.journal).unwrap();
    let (_head, lines) = text.split_once('\n').unwrap();
    assert_eq!(
        lines.lines().count(),
        3 * 16,
        "what is named twice is simulated once"
    );
    assert_eq!(lines.lines().collect::<HashSet<_>>().len(), 3 * 16);
}

#[test]
fn results_are_written_and_the_journal_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let (traces, output, machines) = (traces(directory.path()), output(&directory), machines());
    let results = Sweep::open(&traces, &machines, &output)
        .unwrap()
        .run(&|_| {});
    let error = Sweep::open(&traces, &machines, &output)
        .err()
        .expect("it is locked");
    assert!(error.to_string().contains("another sweep"), "{error}");
    results.unwrap().write(b"parquet", b"csv").unwrap();
    assert_eq!(fs::read(&output.parquet).unwrap(), b"parquet");
    assert_eq!(fs::read(&output.csv).unwrap(), b"csv");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3 + 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// The journal of a sweep that was killed holds some lines, in any order of the traces, and
    /// part of another.
    #[test]
    fn stopped_anywhere_it_goes_on_to_the_same(keep: u64, torn in 0usize..200) {
        let directory = tempfile::tempdir().unwrap();
        let (traces, output) = (traces(directory.path()), output(&directory));
        let whole = swept(&traces, &output);
        let text = fs::read_to_string(&output.journal).unwrap();
        let (head, text) = text.split_once('\n').unwrap();
        let lines = text.lines().enumerate();
        let kept: Vec<_> = lines.filter(|(line, _)| keep >> line & 1 == 1).map(|(_, l)| l).collect();
        let text = format!("{head}\n{}\n{}", kept.join("\n"), &text[..torn]);
        fs::write(&output.journal, text).unwrap();
        let again = swept(&traces, &output);
        prop_assert_eq!(&again.0, &whole.0);
        prop_assert!(again.1 >= kept.len(), "{} of {}", again.1, kept.len());
    }
}

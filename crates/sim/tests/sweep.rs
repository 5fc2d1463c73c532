//! A sweep against its slow twin: every machine on its own; stopped anywhere, it finds the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use proptest::prelude::*;
use tempfile::TempDir;
use terrace_device::Catalogue;
use terrace_sim::pages::{self, Choice, Foresight, Grid, Outcome, Survey};
use terrace_sim::sweep::{Output, Sweep, Trace};
use terrace_sim::watch::Event;
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
    let sweep = Sweep::open(traces, &machines, output, &|_| {}).unwrap();
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
    assert_eq!(
        passes(&output).len(),
        3,
        "what is named twice is simulated once"
    );
}

/// The files of finished passes, in the order of their names.
fn passes(output: &Output) -> Vec<PathBuf> {
    let files = fs::read_dir(&output.results).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

/// On another host, a trace has another path and another time; its content is the same.
#[test]
fn a_copy_of_a_trace_has_the_same_results() {
    let [here, there] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let (mut traces, mut copies) = (traces(here.path()), traces(there.path()));
    // Formats that hold no digest, too.
    for (all, directory) in [(&mut traces, &here), (&mut copies, &there)] {
        let path = directory.path().join("3.csv");
        fs::write(&path, "address,write\n4096,r\n8192,w\n4096,w\n12288,r\n").unwrap();
        all.push(Trace {
            path,
            reading: Reading::default(),
            limit: None,
        });
    }
    let csv = fs::File::options()
        .append(true)
        .open(&copies[3].path)
        .unwrap();
    csv.set_modified(std::time::UNIX_EPOCH).unwrap();
    let outputs = [output(&here), output(&there)];
    let machines = machines();
    let choices = &machines[..4];
    let run = |traces: &[Trace], output: &Output| {
        let read = Mutex::new(0);
        let watch =
            |event: Event| *read.lock().unwrap() += u32::from(matches!(event, Event::Begins(_)));
        let sweep = Sweep::open(traces, choices, output, &watch).unwrap();
        // The native ones hold their digests.
        assert_eq!(*read.lock().unwrap(), 1);
        let resumed = sweep.resumed();
        (sweep.run(&|_| {}).unwrap().traces.len(), resumed)
    };
    assert_eq!(run(&traces, &outputs[0]), (4, 0));
    fs::rename(&outputs[0].results, &outputs[1].results).unwrap();
    assert_eq!(run(&copies, &outputs[1]), (4, 16));
    // Another content under the same name, as long as before.
    fs::write(
        &copies[3].path,
        "address,write\n4096,r\n8192,w\n4096,w\n12288,w\n",
    )
    .unwrap();
    assert_eq!(run(&copies, &outputs[1]), (4, 12));
}

/// Its results would be those of another trace.
#[test]
fn a_trace_that_changes_meanwhile_ends_the_sweep() {
    let directory = tempfile::tempdir().unwrap();
    let (traces, output, machines) = (traces(directory.path()), output(&directory), machines());
    let sweep = Sweep::open(&traces, &machines, &output, &|_| {}).unwrap();
    fs::copy(&traces[1].path, &traces[0].path).unwrap();
    let error = sweep.run(&|_| {}).expect_err("it has changed");
    assert!(error.to_string().contains("changes while"), "{error}");
    let sweep = Sweep::open(&traces[1..2], &machines, &output, &|_| {}).unwrap();
    assert!([0, 20].contains(&sweep.resumed()));
}

#[test]
fn results_are_written_and_what_is_finished_stays() {
    let directory = tempfile::tempdir().unwrap();
    let (traces, output, machines) = (traces(directory.path()), output(&directory), machines());
    let run = |resumed| {
        let sweep = Sweep::open(&traces, &machines, &output, &|_| {}).unwrap();
        assert_eq!(sweep.resumed(), resumed);
        let results = sweep.run(&|_| {}).unwrap();
        results.write(b"parquet", b"csv").unwrap();
        assert_eq!(fs::read(&output.parquet).unwrap(), b"parquet");
        assert_eq!(fs::read(&output.csv).unwrap(), b"csv");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3 + 3);
    };
    run(0);
    run(3 * machines.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Of a sweep that was killed some files are there, and of some only a part.
    #[test]
    fn stopped_anywhere_it_goes_on_to_the_same(fates in prop::array::uniform3(0..3), torn: u16) {
        let directory = tempfile::tempdir().unwrap();
        let (traces, output) = (traces(directory.path()), output(&directory));
        let whole = swept(&traces, &output);
        for (path, fate) in passes(&output).iter().zip(fates) {
            let bytes = fs::read(path).unwrap();
            match fate {
                0 => fs::remove_file(path).unwrap(),
                1 => fs::write(path, &bytes[..usize::from(torn) % bytes.len()]).unwrap(),
                _ => {}
            }
        }
        let machines = machines();
        let sweep = Sweep::open(&traces, &machines, &output, &|_| {}).unwrap();
        prop_assert_eq!(sweep.skipped(), fates.iter().filter(|fate| **fate == 1).count());
        let kept = fates.iter().filter(|fate| **fate == 2).count();
        let again = swept(&traces, &output);
        prop_assert_eq!(&again.0, &whole.0);
        prop_assert_eq!(again.1, kept * machines.len());
    }
}

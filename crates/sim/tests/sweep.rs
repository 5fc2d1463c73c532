//! A sweep against its slow twin: every machine on its own; stopped anywhere, it finds the same.

use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use proptest::prelude::*;
use terrace_base::Result;
use terrace_device::Catalogue;
use terrace_sim::pages::{self, Choice, Foresight, Grid, Outcome, Survey};
use terrace_sim::sweep::{Archive, Kept, Pass, Sweep, Trace};
use terrace_sim::watch::Event;
use terrace_sim::workload::Workload;
use terrace_trace::{Access, Block, Columns, Digest, Reading};

/// Passes in memory.
#[derive(Default)]
struct Memory(Mutex<Vec<Kept>>);

impl Memory {
    fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("memory")
    }
}

impl Archive for Memory {
    fn read(&self, workloads: &HashSet<Digest>) -> Result<(Vec<Kept>, usize)> {
        let mut passes = self.0.lock().unwrap().clone();
        passes.retain(|pass| workloads.contains(&pass.workload));
        Ok((passes, 0))
    }

    fn add(&self, pass: &Pass) -> Result<()> {
        self.0.lock().unwrap().push(pass.kept());
        Ok(())
    }
}

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
            name: index.to_string(),
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
fn swept(traces: &[Trace], archive: &Memory) -> (Vec<Vec<Outcome>>, usize, (u64, usize)) {
    let machines = machines();
    let sweep = Sweep::open(traces, &machines, archive, &|_| {}).unwrap();
    let resumed = sweep.resumed();
    assert_eq!(sweep.machines(), traces.len() * machines.len());
    let left = sweep.left().expect("the traces know their length");
    let most = Mutex::new((0, resumed));
    let results = sweep.run(&|progress| {
        let mut most = most.lock().unwrap();
        *most = (most.0.max(progress.accesses), most.1.max(progress.finished));
    });
    let results = results.unwrap().traces.into_iter();
    let outcomes = results.map(|rows| rows.into_iter().map(|one| one.outcome).collect());
    let most = most.into_inner().unwrap();
    assert_eq!(most, (left, traces.len() * machines.len()));
    (outcomes.collect(), resumed, most)
}

#[test]
fn each_machine_finds_what_it_finds_alone() {
    let directory = tempfile::tempdir().unwrap();
    let (traces, archive) = (traces(directory.path()), Memory::default());
    let alone: Vec<_> = traces
        .iter()
        .map(|trace| twin(trace, &machines()))
        .collect();
    assert_eq!(swept(&traces, &archive).0, alone);
    assert_eq!(archive.len(), 3, "what is named twice is simulated once");
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
            name: "3.csv".to_owned(),
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
    let archive = Memory::default();
    let machines = machines();
    let choices = &machines[..4];
    let run = |traces: &[Trace]| {
        let read = Mutex::new(0);
        let watch =
            |event: Event| *read.lock().unwrap() += u32::from(matches!(event, Event::Begins(_)));
        let sweep = Sweep::open(traces, choices, &archive, &watch).unwrap();
        // The native ones hold their digests.
        assert_eq!(*read.lock().unwrap(), 1);
        let resumed = sweep.resumed();
        (sweep.run(&|_| {}).unwrap().traces.len(), resumed)
    };
    assert_eq!(run(&traces), (4, 0));
    assert_eq!(run(&copies), (4, 16));
    // Another content under the same name, as long as before.
    fs::write(
        &copies[3].path,
        "address,write\n4096,r\n8192,w\n4096,w\n12288,w\n",
    )
    .unwrap();
    assert_eq!(run(&copies), (4, 12));
}

/// Its results would be those of another trace.
#[test]
fn a_trace_that_changes_meanwhile_ends_the_sweep() {
    let directory = tempfile::tempdir().unwrap();
    let (traces, archive, machines) = (traces(directory.path()), Memory::default(), machines());
    let sweep = Sweep::open(&traces, &machines, &archive, &|_| {}).unwrap();
    fs::copy(&traces[1].path, &traces[0].path).unwrap();
    let error = sweep.run(&|_| {}).expect_err("it has changed");
    assert!(error.to_string().contains("changes while"), "{error}");
    let sweep = Sweep::open(&traces[1..2], &machines, &archive, &|_| {}).unwrap();
    assert!([0, 20].contains(&sweep.resumed()));
}

/// A sweep looks at no trace beforehand if no size is a share of a footprint, and knows the
/// footprint when it goes on.
#[test]
fn sizes_that_need_no_footprint_are_known_again() {
    let directory = tempfile::tempdir().unwrap();
    let (traces, archive) = (traces(directory.path()), Memory::default());
    let grid = Grid::parse(&[
        ("dram", "8p,32k"),
        ("order", "plain"),
        ("eviction-buffer", "4"),
    ]);
    let machines = grid.unwrap().machines(&Catalogue::builtin()).unwrap();
    let resumed = [(); 2].map(|()| {
        let sweep = Sweep::open(&traces, &machines, &archive, &|_| {}).unwrap();
        let resumed = sweep.resumed();
        sweep.run(&|_| {}).unwrap();
        resumed
    });
    assert_eq!((resumed, archive.len()), ([0, 6], 3));
}

/// What is left, in parts that others simulate.
fn parts(traces: &[Trace], machines: &[Choice], archive: &Memory) -> Vec<(usize, Vec<usize>)> {
    let sweep = Sweep::open(traces, machines, archive, &|_| {}).unwrap();
    let parts = sweep.parts().unwrap();
    let keys: HashSet<_> = parts.iter().map(|part| part.key).collect();
    assert_eq!(keys.len(), parts.len());
    let parts = parts.into_iter();
    parts.map(|part| (part.trace, part.machines)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Of a sweep that was killed some passes are there.
    #[test]
    fn stopped_anywhere_it_goes_on_to_the_same(stays in prop::array::uniform3(any::<bool>())) {
        let directory = tempfile::tempdir().unwrap();
        let (traces, archive) = (traces(directory.path()), Memory::default());
        let whole = swept(&traces, &archive);
        let mut stays = stays.into_iter();
        archive.0.lock().unwrap().retain(|_| stays.next().unwrap());
        let kept = archive.len();
        let again = swept(&traces, &archive);
        prop_assert_eq!(&again.0, &whole.0);
        prop_assert_eq!(again.1, kept * machines().len());
    }

    /// Each part on another host, some of them twice: nothing is left then, and all is as of one
    /// sweep.
    #[test]
    fn parts_make_the_whole(twice in any::<prop::sample::Index>(), begun in 0..3usize) {
        let directory = tempfile::tempdir().unwrap();
        let (traces, machines) = (traces(directory.path()), machines());
        let (archive, whole) = (Memory::default(), Memory::default());
        swept(&traces[..begun], &archive);
        let mut parts_of_it = parts(&traces, &machines, &archive);
        prop_assert_eq!(parts_of_it.len(), 2 * (3 - begun));
        prop_assert!(parts_of_it.iter().all(|(trace, machines)| *trace >= begun && machines.len() == 10));
        parts_of_it.push(twice.get(&parts_of_it).clone());
        for (trace, some) in parts_of_it {
            let some: Vec<_> = some.into_iter().map(|at| machines[at].clone()).collect();
            let sweep = Sweep::open(&traces[trace..=trace], &some, &archive, &|_| {}).unwrap();
            sweep.run(&|_| {}).unwrap();
        }
        prop_assert_eq!(parts(&traces, &machines, &archive), []);
        let finished = swept(&traces, &archive);
        prop_assert_eq!(&finished.0, &swept(&traces, &whole).0);
        prop_assert_eq!(finished.1, 3 * machines.len());
    }
}

//! A trace of a sweep, and machines for its program.

use std::slice;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use terrace_base::error::Kind;
use terrace_base::{Bytes, Error, Result};
use terrace_trace::caches;
use terrace_trace::stamp::{self, Stamp};
use terrace_trace::{Columns, Digest, Meta};

use super::{Finished, Trace, key};
use crate::pages::{Choice, Dram, Foresight, Outcome, PageMachine, Simulated, Survey};
use crate::watch::{Amount, Event, Part, Watch};
use crate::workload::Workload;

/// Traces that are opened at once.
const OPENED_AT_ONCE: usize = 32;

/// A trace with its results on all machines.
pub(super) struct Task<'a> {
    pub(super) trace: &'a Trace,
    /// The file as it was when the key was made.
    pub(super) stamp: Stamp,
    /// Key of the workload.
    pub(super) workload: Digest,
    /// Number of accesses, if the trace tells it.
    accesses: Option<u64>,
    /// Results, once they are found.
    pub(super) rows: OnceLock<Vec<Simulated>>,
}

impl<'a> Task<'a> {
    pub(super) fn new(
        trace: &'a Trace,
        (stamp, meta): (Stamp, Meta),
        watch: Watch,
    ) -> Result<Self> {
        let digest = match meta.digest {
            Some(digest) => digest,
            None => digest_of(trace, &stamp, watch)?,
        };
        let accesses = meta.accesses;
        Ok(Self {
            workload: key::workload(&digest, &meta.format, &trace.reading, trace.limit),
            trace,
            stamp,
            accesses: accesses.map(|all| all.min(trace.limit.unwrap_or(u64::MAX))),
            rows: OnceLock::new(),
        })
    }

    /// Returns the number of accesses to simulate on `machines` machines.
    pub(super) fn work(&self, machines: usize) -> Option<u64> {
        let accesses = self.accesses?;
        Some(accesses.saturating_mul(machines as u64))
    }

    /// Returns which machines are not finished.
    pub(super) fn missing(&self, machines: &[Choice], all: &Finished) -> Result<Vec<usize>> {
        let Some(known) = all.any(&self.workload) else {
            return Ok((0..machines.len()).collect());
        };
        let machines = keyed(machines, known.footprint_pages)?.into_iter();
        let is_missing = |one: &Keyed| all.outcome(&self.workload, &one.key).is_none();
        let missing = machines.enumerate().filter(|(_, one)| is_missing(one));
        Ok(missing.map(|(at, _)| at).collect())
    }

    /// Surveys the trace in a first pass.
    pub(super) fn survey(&self, foresight: Foresight) -> Result<Survey> {
        let path = self.trace.path.display();
        let survey = Survey::of(self.trace.open(Columns::PAGES)?, foresight, |_| {});
        match survey {
            Err(error) if error.kind == Kind::Usage => {
                Err(Error::usage(format!("the trace `{path}`: {error}")))
            }
            Ok(survey) if survey.footprint_pages == 0 => {
                Err(Error::failure(format!("there is no access in `{path}`")))
            }
            other => other,
        }
    }
}

/// A machine for a program of a known footprint.
pub(super) struct Keyed {
    pub(super) key: Digest,
    /// DRAM as it was asked for.
    dram: Dram,
    pub(super) machine: PageMachine,
}

/// Returns the machines for programs of `footprint` pages, in their order.
pub(super) fn keyed(machines: &[Choice], footprint: u64) -> Result<Vec<Keyed>> {
    let keyed = machines.iter().map(|choice| {
        let machine = choice.machine(footprint)?;
        Ok(Keyed {
            key: key::machine(&machine),
            dram: choice.dram(),
            machine,
        })
    });
    keyed.collect()
}

impl Keyed {
    pub(super) fn with(&self, outcome: Outcome) -> Simulated {
        Simulated {
            dram: self.dram,
            machine: self.machine.clone(),
            outcome,
        }
    }
}

impl Trace {
    pub(super) fn open(&self, columns: Columns) -> Result<Workload> {
        let paths = slice::from_ref(&self.path);
        Workload::open(paths, &self.reading, self.limit, columns)
    }
}

/// Returns how the traces are, and what they say of themselves. Many are opened at once: in a store
/// each takes round trips.
pub(super) fn opened(traces: &[Trace]) -> Result<Vec<(Stamp, Meta)>> {
    let open = |trace: &Trace| {
        let stamp = Stamp::of(&trace.path)?;
        let source = trace.reading.open(&trace.path, Columns::PAGES)?;
        Ok((stamp, source.meta().clone()))
    };
    let found: Vec<OnceLock<Result<_>>> = traces.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let at = next.fetch_add(1, Relaxed);
            let Some(trace) = traces.get(at) else {
                break;
            };
            found[at].get_or_init(|| open(trace));
        }
    };
    thread::scope(|scope| {
        for _ in 0..traces.len().min(OPENED_AT_ONCE) {
            scope.spawn(work);
        }
    });
    let found = found.into_iter();
    found
        .map(|one| one.into_inner().expect("all were opened"))
        .collect()
}

/// Returns the digest of a trace that does not hold it.
fn digest_of(trace: &Trace, stamp: &Stamp, watch: Watch) -> Result<Digest> {
    let begins = Part {
        name: "reading a trace for its digest",
        amount: Amount::Bytes(Bytes(stamp.bytes())),
    };
    let mut has_begun = false;
    stamp::digest_of(&trace.path, caches::directory().as_deref(), |bytes| {
        if !has_begun {
            watch(Event::Begins(begins));
        }
        has_begun = true;
        watch(Event::Done(bytes));
    })
}

//! Simulations of all levels.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use pyo3::prelude::*;
use rayon::ThreadPoolBuilder;
use terrace_base::{Error, Result};
use terrace_device::Catalogue;
use terrace_results::counted::{Counted, counted};
use terrace_results::simulation::Reported;
use terrace_sim::curve::CurveSimulation;
use terrace_sim::files::FilesSimulation;
use terrace_sim::llc::{LlcSimulation, Outputs};
use terrace_sim::mix::MixSimulation;
use terrace_sim::pages::{Beside, PageSimulation};
use terrace_sim::setting::{Given, all};
use terrace_sim::traces::Traces;
use terrace_sim::watch::{Amount, Event};
use terrace_sim::{Simulation, simulate};

use crate::error::{Failure, UsageError, exception, in_python};
use crate::policy;
use crate::results::Results;
use crate::trace::{self, Trace};

/// How often signals are looked for, and progress is told.
const INTERVAL: Duration = Duration::from_millis(100);

/// The stack of the thread that simulates, as that of a program's first thread.
const STACK: usize = 8 << 20;

/// How far a simulation is.
#[derive(Clone, Copy, Default)]
struct Progress {
    part: &'static str,
    done: u64,
    of: Option<u64>,
}

/// What a simulation is stopped by from within.
struct Stopped;

/// What is asked of a simulation of any level.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Asked {
    settings: Vec<(String, String)>,
    /// Accesses of each trace at most.
    pub limit: Option<u64>,
    memories: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
}

impl Asked {
    /// Returns the simulation, and a sentence for each setting that changes nothing.
    pub fn simulation<S: Simulation>(&self, beside: S::Beside) -> Result<(S, Vec<String>)> {
        let settings = self.settings.iter();
        let settings: Vec<_> = settings.map(|(name, value)| (&**name, &**value)).collect();
        let memories = self.memories.as_deref();
        let catalogue = memories.map_or_else(|| Ok(Catalogue::builtin()), Catalogue::load)?;
        let simulation = S::new(Given::parse(&settings)?, catalogue, beside)?;
        let names: Vec<_> = settings.iter().map(|(name, _)| *name).collect();
        let idle = simulation.idle(&names);
        Ok((simulation, idle))
    }
}

/// Simulates traces at a level.
fn simulated<S>(
    py: Python<'_>,
    traces: &[PyRef<'_, Trace>],
    asked: &Asked,
    beside: S::Beside,
) -> PyResult<Results>
where
    S: Reported + Send,
    S::Document: Send + Sync,
{
    let reading = trace::reading(traces, S::OBJECTS)?;
    let places = traces.iter().map(|trace| trace.named_place());
    let named: Vec<&Trace> = traces.iter().map(|trace| &**trace).collect();
    let exception = |error: Error| {
        let named = named.iter();
        exception(&named.fold(error, |error, trace| trace.by_name(&error)))
    };
    let mut traces = Traces::placed(places, reading, asked.limit);
    let (simulation, mut remarks) = asked
        .simulation::<S>(beside)
        .map_err(|error| policy::raised().unwrap_or_else(|| exception(error)))?;
    let (document, read) = watched(py, 0, asked.progress.as_ref(), move |watch| {
        let results = simulate(simulation, &mut traces, watch)?;
        let read = counted(traces.named_places(), &traces.reading.tallies);
        Ok((S::document(traces.names(), read.clone(), results), read))
    })?
    .map_err(|error| policy::raised().unwrap_or_else(|| exception(error)))?;
    remarks.extend(read.iter().map(Counted::sentence));
    let remarks = remarks.iter().map(|sentence| in_python(sentence));
    let text = S::text(&document);
    Ok(Results::new(document, text, remarks.collect()))
}

/// Works with so many threads, which end with it; 0 for as many as there are processors. Each has
/// a state of the interpreter from its begin to its end: otherwise one would be made and dropped
/// for each call of a policy of Python, which costs several microseconds. And the child of a fork,
/// which has no threads, gets some of its own.
pub fn with_threads<T: Send>(number: usize, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let threads = ThreadPoolBuilder::new()
        .num_threads(number)
        .stack_size(STACK);
    let done = threads.build_scoped(
        |thread| Python::attach(|py| py.detach(|| thread.run())),
        |threads| threads.install(work),
    );
    done.map_err(|error| Error::failure(format!("cannot start the threads: {error}")))?
}

/// Works with so many threads, without the interpreter's lock, until it ends or a signal handler of
/// Python raises an exception.
pub fn watched<T: Send>(
    py: Python<'_>,
    threads: usize,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&(dyn Fn(Event) + Sync)) -> Result<T> + Send,
) -> PyResult<Result<T>> {
    let (stop, now) = (AtomicBool::new(false), Mutex::new(Progress::default()));
    let (ended, end) = mpsc::channel::<()>();
    let end = Mutex::new(end);
    let watch = |event: Event| {
        if stop.load(Ordering::Relaxed) {
            std::panic::resume_unwind(Box::new(Stopped));
        }
        note(
            &mut now.lock().unwrap_or_else(PoisonError::into_inner),
            event,
        );
    };
    std::thread::scope(|scope| {
        let worker = Builder::new().stack_size(STACK).spawn_scoped(scope, || {
            let _ended = ended;
            with_threads(threads, || work(&watch))
        })?;
        let mut interrupted = Ok(());
        while let Err(RecvTimeoutError::Timeout) = py.detach(|| waited(&end)) {
            let told = *now.lock().unwrap_or_else(PoisonError::into_inner);
            interrupted = py.check_signals().and_then(|()| match progress {
                Some(tell) => tell.call1(py, (told.part, told.done, told.of)).map(drop),
                None => Ok(()),
            });
            if interrupted.is_err() {
                stop.store(true, Ordering::Relaxed);
                break;
            }
        }
        let done = py.detach(|| worker.join());
        interrupted?;
        match done {
            Ok(done) => Ok(done),
            // A policy of Python's has raised it.
            Err(thrown) => Err(match thrown.downcast::<PyErr>() {
                Ok(raised) => *raised,
                Err(_) => Failure::new_err("terrace has failed, which is a defect of it"),
            }),
        }
    })
}

/// Waits for the end, up to an interval.
fn waited(end: &Mutex<Receiver<()>>) -> std::result::Result<(), RecvTimeoutError> {
    let end = end.lock().unwrap_or_else(PoisonError::into_inner);
    end.recv_timeout(INTERVAL)
}

fn note(now: &mut Progress, event: Event) {
    match event {
        Event::Begins(part) => {
            let of = match part.amount {
                Amount::Accesses(accesses) => accesses,
                Amount::Bytes(bytes) => Some(bytes.0),
                Amount::Time(time) => Some(time.0),
            };
            *now = Progress {
                part: part.name,
                done: 0,
                of,
            };
        }
        Event::Done(done) => now.done = done,
        Event::Spooled { .. } | Event::Lost { .. } => {}
    }
}

/// Simulates machines with DRAM and a slower memory.
#[pyfunction]
pub fn pages(py: Python<'_>, traces: Vec<PyRef<'_, Trace>>, asked: Asked) -> PyResult<Results> {
    let beside = Beside {
        machine: None,
        epoch: None,
    };
    simulated::<PageSimulation>(py, &traces, &asked, beside)
}

/// Says how often programs miss at every size of DRAM.
#[pyfunction]
pub fn curve(py: Python<'_>, traces: Vec<PyRef<'_, Trace>>, asked: Asked) -> PyResult<Results> {
    simulated::<CurveSimulation>(py, &traces, &asked, ())
}

/// Simulates last-level caches, and the memory behind them.
#[pyfunction]
pub fn llc(py: Python<'_>, traces: Vec<PyRef<'_, Trace>>, asked: Asked) -> PyResult<Results> {
    let beside = Outputs {
        requests: None,
        traffic: None,
    };
    simulated::<LlcSimulation>(py, &traces, &asked, beside)
}

/// Simulates tasks that take turns on cores.
#[pyfunction]
pub fn mix(py: Python<'_>, traces: Vec<PyRef<'_, Trace>>, asked: Asked) -> PyResult<Results> {
    simulated::<MixSimulation>(py, &traces, &asked, ())
}

/// Simulates a page cache with flash behind it and a disk.
#[pyfunction]
pub fn files(py: Python<'_>, traces: Vec<PyRef<'_, Trace>>, asked: Asked) -> PyResult<Results> {
    simulated::<FilesSimulation>(py, &traces, &asked, ())
}

/// Returns the settings of a level: name, first line of help, and default.
#[pyfunction]
pub fn settings(level: &str) -> PyResult<Vec<(&'static str, String, Option<&'static str>)>> {
    fn of<S: Simulation>() -> Vec<(&'static str, String, Option<&'static str>)> {
        let all = all::<S::Machine>().into_iter();
        all.map(|setting| (setting.name, setting.summary(), setting.default))
            .collect()
    }
    Ok(match level {
        "pages" => of::<PageSimulation>(),
        "curve" => of::<CurveSimulation>(),
        "llc" => of::<LlcSimulation>(),
        "mix" => of::<MixSimulation>(),
        "files" => of::<FilesSimulation>(),
        _ => {
            return Err(UsageError::new_err(format!(
                "there is no level `{level}`; there are pages, curve, llc, mix, files"
            )));
        }
    })
}

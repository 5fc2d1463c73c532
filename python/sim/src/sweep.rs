//! Sweeps: each of several traces on many machines.

use std::path::{Path, PathBuf};

use arrow_array::RecordBatchIterator;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use terrace_base::{Error, Result};
use terrace_results::counted::{Counted, counted};
use terrace_results::sweep::{self, Passes, Row, SweepDocument};
use terrace_sim::pages::{Beside, Choice, PageSimulation};
use terrace_sim::sweep::{self as sim, SweepPart};
use terrace_sim::watch::{Amount, Event, Part};

use crate::error::{exception, in_python};
use crate::level::{Asked, watched, with_threads};
use crate::policy;
use crate::results::Results;
use crate::stream;
use crate::trace::{self, Trace};

/// What is not finished: which trace, which machines, and the key of both.
type Left = (usize, Vec<usize>, String);

/// Traces, machines, and where passes are kept.
#[pyclass(frozen, module = "terrace_sim._native")]
pub struct Sweep {
    traces: Vec<Py<Trace>>,
    limit: Option<u64>,
    machines: Vec<Choice>,
    passes: Passes,
}

impl Sweep {
    fn traces(&self) -> Result<Vec<sim::Trace>> {
        let traces = self.traces.iter();
        traces
            .map(|trace| trace.get().of_sweep(self.limit))
            .collect()
    }

    fn simulated(
        &self,
        traces: &[sim::Trace],
        is_finished: bool,
        watch: &(dyn Fn(Event) + Sync),
    ) -> Result<(SweepDocument, usize)> {
        let sweep = sim::Sweep::open(traces, &self.machines, &self.passes, watch)?;
        let skipped = sweep.skipped();
        let missing = if is_finished { sweep.parts()?.len() } else { 0 };
        if missing > 0 {
            return Err(Error::failure(format!(
                "workers have simulated all, and of {missing} tasks nothing is in `{}`: they see \
                 another directory under this name, or somebody has removed it; name one that all \
                 hosts share, or a store",
                self.passes
            )));
        }
        watch(Event::Begins(Part {
            name: "simulating",
            amount: Amount::Accesses(sweep.left()),
        }));
        let threads = rayon::current_num_threads().min(self.machines.len());
        let on = |work: &mut (dyn FnMut() + Send)| {
            with_threads(threads, || {
                work();
                Ok(())
            })
        };
        let results = sweep
            .on(&on)
            .run(&|progress| watch(Event::Done(progress.accesses)))?;
        let names: Vec<_> = traces.iter().map(|trace| trace.name.clone()).collect();
        let rows = Row::all(&names, results.traces);
        let counted = traces.iter().flat_map(|trace| {
            let named = [(Path::new(&trace.name), &*trace.path)].into_iter();
            counted(named, &trace.reading.tallies)
        });
        Ok((SweepDocument::new(counted.collect(), rows), skipped))
    }

    /// Says how many passes cannot be used; nothing where all can.
    fn unused(&self, skipped: usize) -> Option<String> {
        let passes = &self.passes;
        (skipped > 0).then(|| {
            format!(
                "in `{passes}` {skipped} damaged files are not used; what is missing is simulated"
            )
        })
    }

    fn exception(&self, error: terrace_base::Error) -> PyErr {
        let named = self.traces.iter();
        exception(&named.fold(error, |error, trace| trace.get().by_name(&error)))
    }
}

#[pymethods]
impl Sweep {
    /// Makes a sweep of some machines of a grid, or of all.
    #[new]
    #[pyo3(signature = (traces, asked, results, machines=None))]
    fn new(
        py: Python<'_>,
        traces: Vec<Py<Trace>>,
        asked: Asked,
        results: PathBuf,
        machines: Option<Vec<usize>>,
    ) -> PyResult<Self> {
        for trace in &traces {
            // Each may be read in another way.
            trace::reading(&[trace.borrow(py)], None)?;
        }
        let (all, _) = choices(&asked)?;
        let chosen = machines.map(|chosen| chosen.into_iter().map(|at| all[at].clone()).collect());
        Ok(Self {
            traces,
            limit: asked.limit,
            machines: chosen.unwrap_or(all),
            passes: Passes::of(&results).map_err(|error| exception(&error))?,
        })
    }

    /// Returns a sentence on passes that cannot be used, if there are any, and what is not finished.
    fn left(
        &self,
        py: Python<'_>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(Option<String>, Vec<Left>)> {
        let found = watched(py, 0, progress.as_ref(), |watch| {
            let traces = self.traces()?;
            let sweep = sim::Sweep::open(&traces, &self.machines, &self.passes, watch)?;
            Ok((sweep.skipped(), sweep.parts()?))
        })?;
        let (skipped, parts) = found.map_err(|error| self.exception(error))?;
        let part = |part: SweepPart| (part.trace, part.machines, part.key.to_string());
        Ok((self.unused(skipped), parts.into_iter().map(part).collect()))
    }

    /// Simulates what is not finished; where all of it should be, that is an error. It works with so
    /// many threads; 0 for as many as there are processors.
    #[pyo3(signature = (progress, is_finished=false, threads=0))]
    fn run(
        &self,
        py: Python<'_>,
        progress: Option<Py<PyAny>>,
        is_finished: bool,
        threads: usize,
    ) -> PyResult<Results> {
        let found = watched(py, threads, progress.as_ref(), |watch| {
            self.simulated(&self.traces()?, is_finished, watch)
        })?;
        let (document, skipped) =
            found.map_err(|error| policy::raised().unwrap_or_else(|| self.exception(error)))?;
        let names = self.traces.iter().map(|trace| trace.get().named());
        let text = sweep::text(&document.runs, &names.collect::<Vec<_>>());
        let remarks = document.counted.iter().map(Counted::sentence);
        let mut remarks: Vec<_> = remarks.map(|sentence| in_python(&sentence)).collect();
        remarks.extend(self.unused(skipped));
        Ok(Results::new(document, text, remarks))
    }
}

/// Returns the machines, and a sentence for each setting that changes nothing.
fn choices(asked: &Asked) -> PyResult<(Vec<Choice>, Vec<String>)> {
    let beside = Beside {
        machine: None,
        epoch: None,
    };
    let simulation = asked.simulation::<PageSimulation>(beside);
    let simulation =
        simulation.map_err(|error| policy::raised().unwrap_or_else(|| exception(&error)));
    simulation.map(|(simulation, idle)| (simulation.choices().to_vec(), idle))
}

/// Returns the number of machines of a grid, and a sentence for each setting that changes nothing.
#[pyfunction]
pub fn machines(asked: Asked) -> PyResult<(usize, Vec<String>)> {
    let (machines, idle) = choices(&asked)?;
    let idle = idle.iter().map(|sentence| in_python(sentence));
    Ok((machines.len(), idle.collect()))
}

/// The rows of all passes of a folder.
#[pyclass(frozen, module = "terrace_sim._native")]
pub struct Collected(sweep::Collected);

#[pymethods]
impl Collected {
    /// Files that are not used.
    #[getter]
    fn skipped(&self) -> usize {
        self.0.skipped
    }

    /// The number of rows.
    fn __len__(&self) -> usize {
        self.0.batches.iter().map(|batch| batch.num_rows()).sum()
    }

    /// The rows as a stream of Arrow.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A consumer casts what it wants otherwise, as the protocol allows.
        let _ = requested_schema;
        let batches = self.0.batches.clone().into_iter().map(Ok);
        let batches = RecordBatchIterator::new(batches, self.0.schema.clone());
        stream::capsule(py, Box::new(batches))
    }
}

/// Reads the rows of all passes of a folder.
#[pyfunction]
pub fn collect(py: Python<'_>, results: PathBuf) -> PyResult<Collected> {
    let collected = py.detach(|| Passes::of(&results)?.collect());
    collected.map(Collected).map_err(|error| exception(&error))
}

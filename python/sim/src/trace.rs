//! Traces: what programs did.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, RecordBatch, RecordBatchReader, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use terrace_base::error::Kind;
use terrace_results::trace::TraceDocument;
use terrace_sim::sweep;
use terrace_trace::objects::Extent;
use terrace_trace::{Block, Columns, Format, Info, Layout, Reading, Source};

use crate::array;
use crate::error::{UsageError, exception};
use crate::results::Results;
use crate::stream;

/// A trace.
#[pyclass(frozen, module = "terrace_sim._native")]
pub struct Trace {
    /// As it was named.
    name: PathBuf,
    /// Where it is read.
    place: PathBuf,
    how: How,
    /// Columns of a table that are not read.
    ignored: Vec<String>,
    /// The file of a trace that was made of an array or a table.
    _kept: Option<File>,
}

/// How a trace is read, where that does not show in it.
#[derive(Clone, Debug, Default, PartialEq)]
struct How {
    format: Option<String>,
    columns: Option<String>,
    keys: bool,
}

impl How {
    fn reading(&self, objects: Option<Extent>) -> terrace_base::Result<Reading> {
        Ok(Reading {
            format: self.format.as_deref().map(Format::parse).transpose()?,
            objects: objects.filter(|_| self.keys),
            layout: self.columns.as_deref().map(Layout::parse).transpose()?,
            ..Reading::default()
        })
    }
}

/// The format, the columns, and whether addresses are names of objects.
type Opened = (Option<String>, Option<String>, bool);

/// Returns how all of these traces are read.
pub fn reading(traces: &[PyRef<'_, Trace>], objects: Option<Extent>) -> PyResult<Reading> {
    let Some(first) = traces.first() else {
        return Err(UsageError::new_err("no trace is given"));
    };
    if traces.iter().any(|trace| trace.how != first.how) {
        return Err(UsageError::new_err(
            "the traces are read in different ways; open all with the same format, columns and keys",
        ));
    }
    if objects.is_none() && first.how.keys {
        return Err(UsageError::new_err(
            "a simulation of this level takes addresses for places; open the trace without `keys`",
        ));
    }
    first
        .how
        .reading(objects)
        .map_err(|error| exception(&error))
}

impl Trace {
    /// Returns the trace for a sweep.
    pub fn of_sweep(&self, limit: Option<u64>) -> terrace_base::Result<sweep::Trace> {
        Ok(sweep::Trace {
            name: self.named(),
            path: self.place.clone(),
            reading: self.how.reading(None)?,
            limit,
        })
    }

    /// Returns the name, and where the trace is read.
    pub fn named_place(&self) -> (PathBuf, PathBuf) {
        (self.name.clone(), self.place.clone())
    }

    /// Opens it without the interpreter's lock: it may come over the network.
    fn open(&self, py: Python<'_>, columns: Columns) -> PyResult<Box<dyn Source>> {
        let how = self.how.reading(None);
        let opened = py.detach(|| how.and_then(|how| how.open(&self.place, columns)));
        opened.map_err(|error| self.exception(&error))
    }

    fn made((file, ignored): (File, Vec<String>), name: String) -> Self {
        Self {
            name: name.into(),
            place: format!("/proc/self/fd/{}", file.as_raw_fd()).into(),
            how: How::default(),
            ignored,
            _kept: Some(file),
        }
    }

    /// Returns the exception of an error about this trace.
    fn exception(&self, error: &terrace_base::Error) -> PyErr {
        exception(&self.by_name(error))
    }

    /// Returns an error that calls the trace by its name, wherever it is read.
    pub fn by_name(&self, error: &terrace_base::Error) -> terrace_base::Error {
        let (place, name) = (self.place.display(), self.name.display());
        let text = error.to_string();
        let text = text.replace(&format!("`{place}`"), &format!("`{name}`"));
        match error.kind {
            Kind::Usage => terrace_base::Error::usage(text),
            Kind::Failure => terrace_base::Error::failure(text),
        }
    }
}

#[pymethods]
impl Trace {
    /// Opens a file.
    #[new]
    #[pyo3(signature = (path, format=None, columns=None, keys=false, name=None))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        format: Option<String>,
        columns: Option<String>,
        keys: bool,
        name: Option<PathBuf>,
    ) -> PyResult<Self> {
        let trace = Self {
            name: name.unwrap_or_else(|| path.clone()),
            place: path,
            how: How {
                format,
                columns,
                keys,
            },
            ignored: Vec::new(),
            _kept: None,
        };
        // What is wrong shows now, and not in the first simulation.
        trace.open(py, Columns::ADDRESSES)?;
        Ok(trace)
    }

    /// Makes a trace of addresses of 8 bytes each, and of a byte each that says what is written.
    #[staticmethod]
    #[pyo3(signature = (addresses, writes, name))]
    fn of_addresses(
        py: Python<'_>,
        addresses: &[u8],
        writes: Option<&[u8]>,
        name: String,
    ) -> PyResult<Self> {
        if writes.is_some_and(|writes| writes.len() != addresses.len() / 8) {
            return Err(UsageError::new_err(
                "there must be as many writes as addresses",
            ));
        }
        let place = array::of_addresses(py, addresses, writes)?;
        Ok(Self::made((place, Vec::new()), name))
    }

    /// Makes a trace of a table that has `__arrow_c_stream__`.
    #[staticmethod]
    fn of_table(py: Python<'_>, table: &Bound<'_, PyAny>, name: String) -> PyResult<Self> {
        Ok(Self::made(array::of_table(py, table)?, name))
    }

    /// The name.
    #[getter(name)]
    pub fn named(&self) -> String {
        self.name.display().to_string()
    }

    /// How the file was opened, with its path; none of a trace that was made in memory.
    #[getter]
    fn opened(&self) -> Option<(OsString, Opened)> {
        let How {
            format,
            columns,
            keys,
        } = self.how.clone();
        let is_file = self._kept.is_none();
        is_file.then(|| (self.place.clone().into(), (format, columns, keys)))
    }

    /// The columns of the table of which it was made that are not read.
    #[getter]
    fn ignored(&self) -> Vec<String> {
        self.ignored.clone()
    }

    /// Reads all of it, and says what is in it.
    fn info(&self, py: Python<'_>) -> PyResult<Results> {
        let mut source = self.open(py, Columns::ALL)?;
        let info = py.detach(|| Info::of(&mut *source, |_| ()));
        let info = info.map_err(|error| self.exception(&error))?;
        let document = TraceDocument::of(&self.named(), source.meta(), &info);
        let text = document.to_text();
        Ok(Results::new(document, text, Vec::new()))
    }

    /// The accesses as a stream of Arrow; the first `rows` of them, if a number is given.
    #[pyo3(signature = (rows=None))]
    fn stream<'py>(&self, py: Python<'py>, rows: Option<u64>) -> PyResult<Bound<'py, PyCapsule>> {
        let source = self.open(py, Columns::ALL)?;
        let left = rows.unwrap_or(u64::MAX);
        stream::capsule(py, Box::new(Accesses { source, left }))
    }
}

/// The accesses of a trace as batches.
struct Accesses {
    source: Box<dyn Source>,
    left: u64,
}

impl RecordBatchReader for Accesses {
    fn schema(&self) -> SchemaRef {
        let number = |name, kind| Field::new(name, kind, false);
        Arc::new(Schema::new(vec![
            number("instruction", DataType::UInt64),
            number("address", DataType::UInt64),
            number("ip", DataType::UInt64),
            number("process", DataType::UInt16),
            number("thread", DataType::UInt16),
            number("size", DataType::UInt32),
            number("write", DataType::Boolean),
        ]))
    }
}

impl Iterator for Accesses {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let mut block = Block::default();
        // Who takes the stream may hold the interpreter's lock.
        let source = &mut self.source;
        let read = Python::attach(|py| py.detach(|| source.next_block(&mut block)));
        match read {
            Ok(false) => return None,
            Ok(true) => {}
            Err(error) => {
                self.left = 0;
                return Some(Err(ArrowError::ExternalError(Box::new(error))));
            }
        }
        block.truncate(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.left -= block.len() as u64;
        // The vectors become Arrow's without a copy.
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from(block.instruction)),
            Arc::new(UInt64Array::from(block.address)),
            Arc::new(UInt64Array::from(block.ip)),
            Arc::new(UInt16Array::from(block.process)),
            Arc::new(UInt16Array::from(block.thread)),
            Arc::new(UInt32Array::from(block.size)),
            Arc::new(BooleanArray::from(block.write)),
        ];
        Some(RecordBatch::try_new(self.schema(), columns))
    }
}

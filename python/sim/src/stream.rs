//! Arrow's interface between libraries: streams of batches in capsules
//! (<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>).

use std::ffi::CStr;

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error::Failure;

const NAME: &CStr = c"arrow_array_stream";

/// Returns the capsule of a stream.
pub fn capsule<'py>(
    py: Python<'py>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'py, PyCapsule>> {
    // Who takes the stream over marks it as released; one that nobody takes is released here.
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), NAME)
}

/// Returns the capsule of a stream of one batch.
pub fn of_batch(py: Python<'_>, batch: RecordBatch) -> PyResult<Bound<'_, PyCapsule>> {
    let schema = batch.schema();
    capsule(py, Box::new(RecordBatchIterator::new([Ok(batch)], schema)))
}

/// Takes the stream of a table over: of `pyarrow`, `pandas`, `polars`, or of any other library that
/// has `__arrow_c_stream__`.
pub fn reader(table: &Bound<'_, PyAny>) -> PyResult<RecordBatchStreamReader> {
    let capsule = table.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>()?;
    if capsule.name()?.map(|name| {
        // SAFETY: the name lives as long as the capsule.
        unsafe { name.as_cstr() }
    }) != Some(NAME)
    {
        return Err(PyTypeError::new_err(
            "the table's stream is no Arrow stream",
        ));
    }
    let stream = capsule.pointer_checked(Some(NAME))?;
    // SAFETY: the protocol says that a capsule of this name holds such a stream; it is moved out,
    // and marked as released.
    let reader = unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr().cast()) };
    reader.map_err(|error| Failure::new_err(format!("cannot read the table: {error}")))
}

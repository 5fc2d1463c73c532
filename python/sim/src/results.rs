//! What a simulation has found.

use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use terrace_base::Result;
use terrace_results::document::Document;
use terrace_results::rows::Rows;
use terrace_results::text::Text;

use crate::error::{Failure, exception};
use crate::stream;

/// A document of any kind.
trait Told: Send + Sync {
    fn json(&self) -> String;
    fn rows(&self) -> Rows;
    fn csv(&self) -> Result<Vec<u8>>;
    fn parquet(&self) -> Result<Vec<u8>>;
    fn html(&self, text: &Text, call: &str) -> String;
}

impl<D: Document + Send + Sync> Told for D {
    fn json(&self) -> String {
        self.to_json()
    }

    fn rows(&self) -> Rows {
        Document::rows(self)
    }

    fn csv(&self) -> Result<Vec<u8>> {
        Document::csv(self)
    }

    fn parquet(&self) -> Result<Vec<u8>> {
        Document::parquet(self)
    }

    fn html(&self, text: &Text, call: &str) -> String {
        self.page().html(text, call)
    }
}

/// Results: JSON, rows, a text and a page.
#[pyclass(frozen, module = "terrace_sim._native")]
pub struct Results {
    document: Box<dyn Told>,
    text: Text,
    remarks: Vec<String>,
}

impl Results {
    /// Makes results of a document, with its text for people and sentences that belong to it.
    pub fn new(
        document: impl Document + Send + Sync + 'static,
        text: Text,
        remarks: Vec<String>,
    ) -> Self {
        Self {
            document: Box::new(document),
            text,
            remarks,
        }
    }
}

#[pymethods]
impl Results {
    /// The JSON, as the command writes it.
    fn json(&self) -> String {
        self.document.json()
    }

    /// The rows as CSV, as the command writes it.
    fn csv(&self) -> PyResult<Vec<u8>> {
        self.document.csv().map_err(|error| exception(&error))
    }

    /// The rows as a Parquet file, as the command writes it.
    fn parquet(&self) -> PyResult<Vec<u8>> {
        self.document.parquet().map_err(|error| exception(&error))
    }

    /// The page, with the call that has made the results.
    fn html(&self, call: &str) -> String {
        self.document.html(&self.text, call)
    }

    /// The tables and sentences that a terminal shows.
    fn text(&self) -> String {
        self.text.to_string()
    }

    /// Sentences on settings that change nothing, and on what was read of traces otherwise than it
    /// stands in them.
    fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
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
        let batch = self.document.rows().batch();
        let batch = batch.map_err(|error| Failure::new_err(error.to_string()))?;
        stream::of_batch(py, batch)
    }
}

//! Simulations for Python: the settings, sentences and results of the command.
//!
//! `terrace_sim/__init__.py` is what people import; it turns Python values into the texts of
//! settings, and calls what is here.

mod array;
mod error;
mod level;
mod policy;
mod results;
mod stream;
mod sweep;
mod trace;

use pyo3::prelude::*;

/// What `terrace_sim` is made of.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::error::{Failure, TerraceError, UsageError};
    #[pymodule_export]
    use crate::level::{curve, files, llc, mix, pages, settings};
    #[pymodule_export]
    use crate::policy::{policies, register, renew};
    #[pymodule_export]
    use crate::results::Results;
    #[pymodule_export]
    use crate::sweep::{Collected, Sweep, collect, machines};
    #[pymodule_export]
    use crate::trace::Trace;

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

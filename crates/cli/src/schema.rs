//! `terrace schema`.

use std::process::ExitCode;

use terrace_base::Result;
use terrace_base::output::print;
use terrace_report::kinds;

use crate::args::Schema;

pub fn schema(arguments: &Schema) -> Result<ExitCode> {
    print(match &arguments.kind {
        None => kinds::listed(),
        Some(name) => kinds::of_kind(name)?.to_json(),
    })?;
    Ok(ExitCode::SUCCESS)
}

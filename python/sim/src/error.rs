//! Errors as Python's exceptions, with the sentences of the command.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use terrace_base::Error;
use terrace_base::error::Kind;

create_exception!(
    terrace_sim,
    TerraceError,
    PyException,
    "What is wrong, in one sentence."
);
create_exception!(
    terrace_sim,
    Failure,
    TerraceError,
    "Something cannot be done: a file is damaged, or there is not enough memory."
);
create_exception!(
    terrace_sim,
    UsageError,
    TerraceError,
    "Something was asked for that does not exist, or has a wrong value."
);

/// Returns the exception of an error. Settings have the names that they have in Python.
pub fn exception(error: &Error) -> PyErr {
    let sentence = in_python(&error.to_string());
    match error.kind {
        Kind::Usage => UsageError::new_err(sentence),
        Kind::Failure => Failure::new_err(sentence),
    }
}

/// Returns a sentence, which has the names of settings in ‘ and ’, with their names in Python.
pub fn in_python(sentence: &str) -> String {
    let mut parts = sentence.split('‘');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('’') {
            Some((name, rest)) if is_setting(name) => {
                text.extend(["`", &name.replace('-', "_"), "`", rest]);
            }
            _ => text.extend(["‘", part]),
        }
    }
    text
}

fn is_setting(name: &str) -> bool {
    name.chars()
        .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

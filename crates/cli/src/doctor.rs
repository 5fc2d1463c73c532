//! `terrace doctor`.

use std::io::Write;
use std::process::ExitCode;

use terrace_base::Result;
use terrace_live::doctor;
use terrace_live::journal::leftover::Cleaned;
use terrace_report::doctor::DoctorDocument;

use crate::args::Doctor;
use crate::results::{Outputs, People};

pub fn doctor(arguments: &Doctor) -> Result<ExitCode> {
    let outputs = Outputs::open(&arguments.results, &[], &[])?;
    let mut cleaned_up = true;
    if arguments.clean {
        let cleaned = doctor::clean()?;
        cleaned_up = cleaned.left.is_empty();
        for line in said(&cleaned) {
            let _ = writeln!(std::io::stderr(), "terrace: {line}");
        }
    }
    let checks = doctor::examine();
    let document = DoctorDocument::of(&checks);
    let people = match arguments.clean {
        true => People::Nobody,
        false => People::Standard,
    };
    outputs.say(&document, &document.text(), people)?;
    let well = match arguments.clean {
        true => cleaned_up,
        false => document.ready,
    };
    Ok(match well {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Returns a line for each result of cleaning.
fn said(cleaned: &Cleaned) -> Vec<String> {
    if cleaned.done.is_empty() && cleaned.left.is_empty() {
        return vec!["nothing was left behind".to_owned()];
    }
    let mut lines = Vec::new();
    if !cleaned.done.is_empty() {
        lines.push(format!("put back: {}", cleaned.done.join(", ")));
    }
    lines.extend(cleaned.left.iter().cloned());
    lines
}

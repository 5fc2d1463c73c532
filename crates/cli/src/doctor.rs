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
        let cleaned = doctor::clean(&mut |text| {
            let _ = writeln!(std::io::stderr(), "terrace: {text}");
        })?;
        cleaned_up = cleaned.left.is_empty();
        for line in said(&cleaned) {
            let _ = writeln!(std::io::stderr(), "terrace: {line}");
        }
    }
    let checks = doctor::examine();
    let nodes = doctor::nodes();
    let document = DoctorDocument::of(&checks, &nodes);
    let (people, well) = match arguments.clean {
        true => (People::Nobody, cleaned_up),
        false => (People::Standard, document.ready),
    };
    outputs.say(&document, &document.text(), people)?;
    Ok(u8::from(!well).into())
}

/// Returns a line for each result of cleaning.
fn said(cleaned: &Cleaned) -> Vec<String> {
    if cleaned.done.is_empty() && cleaned.left.is_empty() {
        return vec!["nothing was left behind".to_owned()];
    }
    let done = (!cleaned.done.is_empty()).then(|| format!("put back: {}", cleaned.done.join(", ")));
    done.into_iter()
        .chain(cleaned.left.iter().cloned())
        .collect()
}

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
            if !arguments.quiet {
                say(text);
            }
        })?;
        cleaned_up = cleaned.left.is_empty();
        if !arguments.quiet {
            done(&cleaned).iter().for_each(|line| say(line));
        }
        cleaned.left.iter().for_each(|line| say(line));
    }
    let checks = doctor::examine();
    let nodes = doctor::nodes();
    let document = DoctorDocument::of(&checks, &nodes);
    let (people, well) = match arguments.clean {
        true => (People::Nobody, cleaned_up),
        false => (People::Standard, document.ready && document.clean),
    };
    outputs.say(&document, &document.text(), people)?;
    Ok(u8::from(!well).into())
}

fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "terrace: {line}");
}

/// Returns a line for each thing that was put back.
fn done(cleaned: &Cleaned) -> Vec<String> {
    match cleaned.done.is_empty() && cleaned.left.is_empty() {
        true => vec!["nothing was left behind".to_owned()],
        false => cleaned.done.clone(),
    }
}

//! `terrace calibrate`, and the program that it runs.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::fd::FromRawFd;
use std::path::Path;
use std::process::ExitCode;

use terrace_base::{Context, Error, Result};
use terrace_report::calibrate::{Document, text};

use crate::args;

pub fn calibrate(arguments: &args::Calibrate) -> Result<ExitCode> {
    let calibration =
        terrace_live::calibrate::calibrate(&command_of_probe()?, arguments.tier.as_ref())?;
    let machine = terrace_validate::machine::machine(&calibration);
    // Whoever reads only the first lines has read what they wanted.
    let _ = std::io::stdout().write_all(text(&calibration, &machine).as_bytes());
    if let Some(path) = &arguments.machine {
        save(path, &machine.to_toml()?)?;
    }
    if let Some(path) = &arguments.json {
        save(path, &Document::new(calibration).to_json())?;
    }
    Ok(ExitCode::SUCCESS)
}

pub fn probe(arguments: &args::Probe) -> Result<ExitCode> {
    if arguments.pages == 0 || arguments.descriptor <= 2 {
        return Err(Error::usage(
            "this command is for terrace calibrate; run that one",
        ));
    }
    // SAFETY: whoever started us passed this descriptor for us to own; where it is not open,
    // writing fails.
    let mut to = unsafe { File::from_raw_fd(arguments.descriptor) };
    terrace_live::probe::tell(arguments.pages, &mut to)?;
    Ok(ExitCode::SUCCESS)
}

/// This program as the probe; the rest of its arguments is added by whoever starts it.
pub fn command_of_probe() -> Result<Vec<OsString>> {
    let own = std::env::current_exe().or_fail(|| "cannot find this program's file".into())?;
    Ok(vec![own.into(), "probe".into()])
}

/// Writes a result.
pub fn save(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text)
        .map_err(|error| Error::failure(format!("cannot write {}: {error}", path.display())))
}

//! What ngspice finds for a netlist.

use std::io::ErrorKind;
use std::process::{Command, Stdio};

use terrace_base::{Context, Error, Result};

use super::netlist::Netlist;

/// Delays by ngspice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spice {
    /// From the search lines of the cell to the last section, in ps.
    pub tcam_ps: f64,
    /// From the select line to half of the bitline's voltage, in ps.
    pub port_ps: f64,
}

impl Spice {
    /// Runs `ngspice`; `None` if it is not installed.
    ///
    /// # Errors
    /// Returns a failure if ngspice finds no delay, with what it said.
    pub fn run(netlist: &Netlist) -> Result<Option<Self>> {
        let folder =
            tempfile::tempdir().or_fail(|| "cannot make a directory for ngspice".into())?;
        let path = folder.path().join("block.cir");
        std::fs::write(&path, &netlist.0)
            .or_fail(|| format!("cannot write `{}`", path.display()))?;
        let mut ngspice = Command::new("ngspice");
        ngspice
            .arg("-b")
            .arg(&path)
            .current_dir(&folder)
            .stdin(Stdio::null());
        let output = match ngspice.output() {
            Ok(output) => output,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Error::failure(format!("cannot run ngspice: {e}"))),
        };
        let said = [&output.stdout[..], &output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        Ok(Some(Self {
            tcam_ps: measured_ps(&said, "tcam")?,
            port_ps: measured_ps(&said, "port")?,
        }))
    }
}

/// Finds a measurement in the output: `tcam = 1.5e-10 targ= ...`.
fn measured_ps(said: &str, name: &str) -> Result<f64> {
    let mut lines = said.lines().filter_map(|line| line.trim().split_once('='));
    let value = lines.find_map(|(key, value)| {
        let seconds = value.split_whitespace().next()?.parse::<f64>().ok()?;
        (key.trim() == name).then_some(seconds * 1e12)
    });
    value.ok_or_else(|| {
        let mut problems = said
            .lines()
            .filter(|line| line.to_lowercase().contains("error"));
        let problem = problems.next().unwrap_or("it names no error").trim();
        Error::failure(format!("ngspice found no delay `{name}`: {problem}"))
    })
}

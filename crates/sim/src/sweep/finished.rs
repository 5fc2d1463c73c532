//! Finished results of a sweep, and where they are kept.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use terrace_base::{Error, Result};
use terrace_trace::Digest;

use super::key;
use crate::pages::{Outcome, Simulated};

/// Results of a workload on some machines, as a sweep finds them.
#[derive(Clone, Debug)]
pub struct Pass {
    /// The trace, as it was named.
    pub trace: String,
    /// Key of the workload.
    pub workload: Digest,
    /// The machines with their keys, and what was found.
    pub machines: Vec<(Digest, Simulated)>,
}

impl Pass {
    /// Returns the key: that of the workload and of all machines.
    pub fn key(&self) -> Digest {
        key::pass(self.workload, self.machines.iter().map(|(key, _)| *key))
    }

    /// Returns what a later sweep needs of it.
    pub fn kept(&self) -> Kept {
        let machines = self.machines.iter();
        let outcome = |(key, one): &(Digest, Simulated)| (*key, one.outcome.clone());
        Kept {
            workload: self.workload,
            machines: machines.map(outcome).collect(),
        }
    }
}

/// What a later sweep needs of a pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Key of the workload.
    pub workload: Digest,
    /// Keys of machines, and what was found.
    pub machines: Vec<(Digest, Outcome)>,
}

/// Where passes are kept, for any number of sweeps at once, from any host. It shows as its name.
///
/// A pass is there as a whole or not at all. Two sweeps that add the same pass add the same
/// outcomes, so nothing is locked, and to go on is to read what is there.
pub trait Archive: fmt::Display + Sync {
    /// Returns what is kept of these workloads, and the number of passes that cannot be used: they
    /// are damaged or of another version.
    ///
    /// # Errors
    /// A failure where something cannot be read.
    fn read(&self, workloads: &HashSet<Digest>) -> Result<(Vec<Kept>, usize)>;

    /// Adds a pass, and waits until it is safe.
    ///
    /// # Errors
    /// A failure where it cannot be written; nothing of it is there then.
    fn add(&self, pass: &Pass) -> Result<()>;
}

/// Finished results.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Name of the archive.
    archive: String,
    /// Outcomes by workload and machine.
    found: HashMap<Digest, HashMap<Digest, Outcome>>,
    skipped: usize,
}

impl Finished {
    /// Reads the results of these workloads in an archive.
    ///
    /// # Errors
    /// A failure where the archive cannot be read.
    pub fn read(archive: &dyn Archive, workloads: &HashSet<Digest>) -> Result<Self> {
        let (passes, skipped) = archive.read(workloads)?;
        let mut finished = Self {
            archive: archive.to_string(),
            found: HashMap::new(),
            skipped,
        };
        passes.into_iter().for_each(|pass| finished.insert(pass));
        Ok(finished)
    }

    /// Returns the number of passes that are not used: they are damaged or of another version.
    pub fn skipped(&self) -> usize {
        self.skipped
    }

    /// Returns the outcome of a workload on a machine, if it is finished.
    pub fn outcome(&self, workload: &Digest, machine: &Digest) -> Option<&Outcome> {
        self.found.get(workload)?.get(machine)
    }

    /// Returns any outcome of a workload: its footprint is the same for every machine.
    pub fn any(&self, workload: &Digest) -> Option<&Outcome> {
        self.found.get(workload)?.values().next()
    }

    /// Adds what is kept of a pass.
    pub fn insert(&mut self, pass: Kept) {
        let found = self.found.entry(pass.workload).or_default();
        found.extend(pass.machines);
    }

    /// Returns the error that ends a sweep, with the archive if anything is finished.
    pub fn stays(&self, error: &Error) -> Error {
        if self.found.is_empty() {
            return error.clone();
        }
        let mut stays = Error::failure(format!(
            "{error}; what is finished stays in `{}`, and the same sweep goes on from there",
            self.archive
        ));
        stays.kind = error.kind;
        stays
    }
}

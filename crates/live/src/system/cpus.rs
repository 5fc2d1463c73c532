//! Sets of CPUs, as the kernel writes them: `0-3,6`.

use std::fmt;
use std::fs;
use std::io;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};
use terrace_base::{Context, Error, Result};

const ONLINE: &str = "/sys/devices/system/cpu/online";

/// Numbers of CPUs, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cpus(Vec<usize>);

impl Cpus {
    /// Parses a list of numbers and ranges; `None` if it is none, is empty, or names a CPU beyond
    /// the largest number that the kernel knows.
    pub fn parse(list: &str) -> Option<Self> {
        let mut cpus = Vec::new();
        for part in list.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
            if last >= CpuSet::MAX_CPU {
                return None;
            }
            cpus.extend(first..=last);
        }
        cpus.sort_unstable();
        cpus.dedup();
        (!cpus.is_empty()).then_some(Self(cpus))
    }

    /// Parses a list that a user gives.
    ///
    /// # Errors
    /// A message that says how one is written.
    pub fn read(list: &str) -> std::result::Result<Self, String> {
        let parsed = Self::parse(list);
        parsed.ok_or_else(|| format!("`{list}` is no list of CPUs; write it as 0, 0-3 or 0,2"))
    }

    /// Returns the CPUs that are online.
    ///
    /// # Errors
    /// A failure if the kernel's list cannot be read.
    pub fn online() -> Result<Self> {
        let text = fs::read_to_string(ONLINE).or_fail(|| format!("cannot read {ONLINE}"))?;
        Self::parse(text.trim()).ok_or_else(|| Error::failure(format!("{ONLINE} reads `{text}`")))
    }

    /// Returns the CPUs that a task may use; 0 is the calling thread.
    ///
    /// # Errors
    /// The kernel's, as for a task that has ended.
    pub fn of(task: u32) -> io::Result<Self> {
        let set = sched_getaffinity(pid(task))?;
        let all = 0..CpuSet::MAX_CPU;
        Ok(Self(all.filter(|&cpu| set.is_set(cpu)).collect()))
    }

    /// Makes these the CPUs that a task may use; 0 is the calling thread.
    ///
    /// # Errors
    /// The kernel's, as for a task that has ended, or none of whose CPUs these are.
    pub fn set(&self, task: u32) -> io::Result<()> {
        let mut set = CpuSet::new();
        self.0.iter().for_each(|&cpu| set.set(cpu));
        Ok(sched_setaffinity(pid(task), &set)?)
    }

    /// Returns one CPU alone.
    pub fn one(cpu: usize) -> Self {
        Self(vec![cpu])
    }

    /// Returns the CPUs that are in both sets.
    pub fn and(&self, other: &Self) -> Self {
        Self(self.iter().filter(|&cpu| other.has(cpu)).collect())
    }

    /// Returns the numbers.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().copied()
    }

    /// Whether a CPU is in the set.
    pub fn has(&self, cpu: usize) -> bool {
        self.0.binary_search(&cpu).is_ok()
    }

    /// Returns their number.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

fn pid(task: u32) -> Option<Pid> {
    Pid::from_raw(task as i32)
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let next = |pair: &[usize]| pair[0] + 1 == pair[1];
        for (index, range) in self.0.chunk_by(|a, b| next(&[*a, *b])).enumerate() {
            let comma = if index > 0 { "," } else { "" };
            match range {
                [first, .., last] => write!(f, "{comma}{first}-{last}")?,
                [one] => write!(f, "{comma}{one}")?,
                [] => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_written_as_they_are_read() {
        for (list, cpus) in [("0", vec![0]), ("0-2,5", vec![0, 1, 2, 5])] {
            let parsed = Cpus::parse(list).unwrap();
            assert_eq!(parsed, Cpus(cpus));
            assert_eq!(parsed.to_string(), list);
        }
        assert_eq!(Cpus::parse("3,1-2,2").unwrap().to_string(), "1-3");
        for list in ["", "a", "1-", "2-1", "0,", "4294967296", "0-1024"] {
            assert_eq!(Cpus::parse(list), None, "{list}");
        }
    }

    #[test]
    fn a_thread_moves_to_the_cpus_that_it_is_given() {
        let before = Cpus::of(0).unwrap();
        let one = Cpus::one(before.iter().last().unwrap());
        one.set(0).unwrap();
        assert_eq!(Cpus::of(0).unwrap(), one);
        before.set(0).unwrap();
        assert_eq!(Cpus::of(0).unwrap(), before);
        assert!(Cpus::of(u32::MAX >> 1).is_err());
    }
}

//! Measured machine as a file: costs of a fault, and timing of its tier.
//!
//! `terrace calibrate --machine FILE` writes the file; times are whole nanoseconds.

use std::path::Path;

use serde::{Deserialize, Serialize};
use terrace_base::{Context, Error, Nanos, Result};
use terrace_device::{Deadlines, Order, Timing};

use super::cost::FaultCost;
use super::names::possible;
use super::tier::Tier;

/// Measured machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Name of its tier in results.
    pub name: String,
    /// Timing of the tier.
    pub tier: Measured,
    /// Costs of a fault beyond the tier.
    pub fault: FaultCost,
}

/// Timing of a tier for requests of one page; see [`Timing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// Latency of a read when no other request is in progress.
    pub read: Nanos,
    /// Time for which a write occupies a channel.
    pub write: Nanos,
    /// Number of requests served at the same time.
    pub channels: u32,
    /// Bytes per second over all channels.
    pub bandwidth: u64,
}

impl Machine {
    /// Reads a machine from a file.
    ///
    /// # Errors
    /// A failure where the file cannot be read; a usage error where it does not describe a machine.
    pub fn load(path: &Path) -> Result<Self> {
        let name = path.display();
        let text = std::fs::read_to_string(path)
            .or_fail(|| format!("cannot read the machine `{name}`"))?;
        let machine: Self = toml::from_str(&text).map_err(|error| {
            Error::usage(format!(
                "`{name}` describes no machine: {}; terrace calibrate --machine FILE writes one",
                error.message()
            ))
        })?;
        machine.check(&name.to_string())?;
        Ok(machine)
    }

    /// Checks that no figure is so large that virtual time could overflow.
    fn check(&self, name: &str) -> Result<()> {
        let (cost, Measured { read, write, .. }) = (&self.fault, self.tier);
        let fault = [cost.trap, cost.kernel, cost.copy, cost.map, cost.unmap];
        let others = [
            cost.write_out,
            cost.write_again,
            cost.prefetch,
            cost.readahead,
        ];
        for time in fault.into_iter().chain(others).chain([read, write]) {
            possible(time).map_err(|error| Error::usage(format!("`{name}`: {error}")))?;
        }
        if self.tier.channels == 0 || self.tier.bandwidth == 0 {
            return Err(Error::usage(format!(
                "`{name}`: a tier has at least one channel, and some bandwidth"
            )));
        }
        Ok(())
    }

    /// Returns the machine as text for a file.
    ///
    /// # Errors
    /// A failure where the format cannot represent the figures.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string(self)
            .map_err(|error| Error::failure(format!("cannot write the machine: {error}")))
    }

    /// Returns the tier of the machine.
    pub fn tier(&self) -> Tier {
        Tier {
            name: self.name.clone(),
            timing: Timing {
                read: self.tier.read,
                write: self.tier.write,
                channels: self.tier.channels,
                bandwidth: Some(self.tier.bandwidth),
                order: Order::Deadline(Deadlines::default()),
            },
            devices: 1,
            ..Tier::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        Machine {
            name: "a disk".to_owned(),
            tier: Measured {
                read: Nanos(53_000),
                write: Nanos(10_000),
                channels: 3,
                bandwidth: 784_000_000,
            },
            fault: FaultCost::linux(),
        }
    }

    fn load(text: &str) -> Result<Machine> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Machine::load(file.path())
    }

    #[test]
    fn what_is_written_can_be_read() {
        let text = machine().to_toml().unwrap();
        assert_eq!(load(&text), Ok(machine()), "{text}");
    }

    #[test]
    fn nonsense_is_refused_with_a_sentence() {
        let good = machine().to_toml().unwrap();
        for (from, to, why) in [
            ("name", "nome", "describes no machine"),
            ("channels = 3", "channels = 0", "at least one channel"),
            ("read = 53000", "read = 9000000000000000", "longer than"),
            ("read = 53000", "read = -1", "describes no machine"),
        ] {
            let text = good.replacen(from, to, 1);
            let error = load(&text).unwrap_err().to_string();
            assert!(error.contains(why), "{from}: {error}");
        }
        let missing = Machine::load(Path::new("/no/such/machine"));
        assert!(missing.is_err());
    }
}

//! The tier that holds memory beyond the DRAM budget.

use std::path::Path;

use clap::Args;
use terrace_base::Bytes;
use terrace_live::tier::{Choice, Spec};

/// The options that name a tier.
#[derive(Args)]
pub struct Tier {
    /// Slower memory: directory, device, zram[+DIR], node:N
    ///
    /// In a directory terrace makes swap files. A block device must be blank. `zram` is compressed
    /// memory; after `zram+` a directory or block device follows, to which pages go that were idle
    /// for ten to twenty seconds or cannot be compressed (a kernel with CONFIG_ZRAM_WRITEBACK).
    /// `existing` is the swap that the machine has. `node:1` is a slower memory node, for `terrace
    /// run` alone: a CXL expander, DRAM beside HBM, or another socket. The default is the state
    /// directory.
    #[arg(long, value_name = "TIER", value_parser = Spec::parse)]
    tier: Option<Spec>,

    /// Largest size of the tier, as 16G
    ///
    /// By default it is what the footprint needs, twice that; a tier for a program of unknown
    /// footprint grows with what the program swaps to it, up to twice the machine's memory. Without
    /// the option and with it, a tier in a directory never takes more than half of the free disk.
    /// Of a device the rest is not used.
    #[arg(long, value_name = "SIZE", value_parser = Choice::parse_allowed, allow_hyphen_values = true,
          hide_short_help = true)]
    tier_size: Option<Bytes>,

    /// Use a device with --tier although it holds data, which is destroyed
    ///
    /// A device that is mounted, used for swap or held by another is refused nevertheless.
    #[arg(long, requires = "tier", hide_short_help = true)]
    force: bool,
}

impl Tier {
    /// Returns the device that the tier overwrites, with its option.
    pub fn device(&self) -> Option<(&'static str, &Path)> {
        let device = self.tier.as_ref()?.device()?;
        Some(("--tier", device))
    }

    /// Whether one of them is given.
    pub fn is_given(&self) -> bool {
        self.tier.is_some() || self.tier_size.is_some() || self.force
    }

    /// Returns the tier that was chosen.
    pub fn choice(self) -> Choice {
        Choice {
            spec: self.tier.map(|tier| tier.forced(self.force)),
            allowed: self.tier_size,
        }
    }
}

#[cfg(test)]
mod tests {
    use terrace_base::keep_apart;

    use super::*;

    #[test]
    fn no_result_goes_to_the_device_of_the_tier() {
        let of = |tier| Tier {
            tier: Some(tier),
            tier_size: None,
            force: false,
        };
        let path = Path::new("device");
        let device = of(Spec::Device {
            path: path.into(),
            force: false,
        });
        let inputs: Vec<_> = device.device().into_iter().collect();
        let error = keep_apart(&inputs, &[("--json", path)]).unwrap_err();
        assert!(error.to_string().contains("--tier names"), "{error}");
        assert_eq!(of(Spec::Directory(path.into())).device(), None);
    }
}

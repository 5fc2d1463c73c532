//! The tier that holds memory beyond the DRAM budget.

use std::path::Path;

use clap::Args;
use terrace_live::tier::Spec;

/// The options that name a tier.
#[derive(Args)]
pub struct Tier {
    /// Slower memory: directory, device, zram[+DIR], node:N
    ///
    /// In a directory terrace makes swap files. A block device must be blank. `zram` is compressed memory;
    /// after `zram+` a directory or block device follows, to which pages go that were idle for ten to twenty
    /// seconds or cannot be compressed (a kernel with CONFIG_ZRAM_WRITEBACK). `existing` is the swap that the
    /// machine has. `node:1` is a slower memory node, for `terrace run` alone: a CXL expander, DRAM beside HBM, or
    /// another socket. The default is the state directory.
    #[arg(long, value_name = "TIER", value_parser = Spec::parse)]
    tier: Option<Spec>,

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

    /// Returns the tier, if one was named.
    pub fn spec(self) -> Option<Spec> {
        self.tier.map(|tier| tier.forced(self.force))
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

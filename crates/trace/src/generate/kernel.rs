//! What all kernels share: their settings, and how their accesses become a trace.

use terrace_base::{Bytes, Error, Result, memory};

use super::log::Log;
use crate::source::{Meta, Source, made};

/// Largest footprint: it fits into the half of a 47-bit address space.
pub const MAX_FOOTPRINT: Bytes = Bytes(1 << 46);

/// Largest footprint of a kernel whose data structures really lie in memory.
pub const MAX_BUILT: Bytes = Bytes(1 << 36);

/// Accesses that are generated at a time.
const BLOCK: usize = 16 * 1024;

/// KernelSettings that all kernels share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct KernelSettings {
    /// Stop after N accesses, if the kernel does not end before: 1000000, 20M
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", default_value = "10M", value_parser = terrace_base::count::parse_count, allow_hyphen_values = true))]
    pub accesses: u64,
    /// What all arrays of the kernel take together, at most: 64M, 4GiB, bytes
    #[cfg_attr(feature = "clap", arg(long, value_name = "SIZE", default_value = "256M", value_parser = Bytes::parse, allow_hyphen_values = true))]
    pub footprint: Bytes,
    /// The seed of the random numbers
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", default_value_t = 1, value_parser = terrace_base::count::whole(0..=u64::MAX)))]
    pub seed: u64,
}

impl KernelSettings {
    /// Checks that the footprint is at least `least` bytes, and at most `most`.
    pub(super) fn check(&self, least: u64, most: Bytes) -> Result<()> {
        let footprint = self.footprint;
        if self.accesses == 0 {
            return Err(Error::usage("a trace of 0 accesses is none; ask for more"));
        }
        if footprint.0 < least {
            return Err(Error::usage(format!(
                "a footprint of {footprint} is too small for this kind and its options; it takes \
                 at least {}",
                Bytes(least)
            )));
        }
        if footprint > most {
            return Err(Error::usage(format!(
                "a footprint of {footprint} is too large; this kind takes at most {most}"
            )));
        }
        Ok(())
    }
}

/// Returns `len` zeros, for what a kernel really keeps in memory.
pub(super) fn zeroed<T: Clone + Default>(len: u64) -> Result<Vec<T>> {
    let bytes = Bytes(len.saturating_mul(size_of::<T>() as u64));
    memory::require(bytes, "what this kind of trace keeps")?;
    Ok(vec![T::default(); len as usize])
}

/// Returns a trace of a kernel, described by its kind, the settings and its own options.
///
/// `step` logs the next few accesses of the kernel's loop. At the end, it logs none and returns
/// false.
pub(super) fn generated(
    kind: &str,
    settings: &KernelSettings,
    options: &[(&str, String)],
    mut step: impl FnMut(&mut Log) -> bool + Send + 'static,
) -> Box<dyn Source> {
    let common = [
        ("kind", kind.to_owned()),
        ("footprint", settings.footprint.0.to_string()),
        ("seed", settings.seed.to_string()),
    ];
    let about = common.iter().chain(options);
    let meta = Meta {
        about: about.map(|(k, v)| ((*k).to_owned(), v.clone())).collect(),
        ..Meta::of("generated", true)
    };
    let (mut log, mut left) = (Log::default(), settings.accesses);
    made(meta, move |block| {
        log.begin(block);
        let wanted = left.min(BLOCK as u64) as usize;
        while log.len() < wanted && step(&mut log) {}
        // The last step may do more than was wanted: the block is longer, or the trace cut.
        left -= log.end(block, left);
        Ok(())
    })
}

//! Traces of well-known access patterns, made while they are read.
//!
//! Each kind is the loop of a real kernel that notes its loads and stores, as a compiler that
//! keeps scalars in registers would leave them. Nothing is kept of the trace; only what the kernel
//! itself looks at, such as a hash table or a graph, lies in memory. The same [`Settings`] and
//! options give the same trace on every machine: all that is drawn comes from xoshiro256++ in
//! integers, and the logarithms of [`zipf`] are those of the crate `libm`, not the machine's.

pub mod bfs;
pub mod chase;
pub mod gups;
pub mod join;
mod log;
pub mod matmul;
mod permutation;
mod random;
pub mod sequential;
pub mod stencil;
pub mod strided;
pub mod zipf;

pub use bfs::Bfs;
pub use chase::Chase;
pub use gups::Gups;
pub use join::Join;
pub use matmul::Matmul;
pub use sequential::Sequential;
pub use stencil::Stencil;
pub use strided::Strided;
pub use zipf::Zipf;

use terrace_base::{Bytes, Error, Result};

use crate::access::Block;
use crate::source::{Meta, Source};
use log::Log;

/// The largest footprint: it fits into the half of a 47-bit address space.
pub const MAX_FOOTPRINT: Bytes = Bytes(1 << 46);

/// The largest footprint of a kind whose data structures really lie in memory.
pub const MAX_BUILT: Bytes = Bytes(1 << 36);

/// Accesses that are made at a time.
const BLOCK: usize = 16 * 1024;

/// What every kind is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The trace ends after this many accesses, or before, where the kernel does.
    pub accesses: u64,
    /// What the arrays of the kernel take together, at most, but for rounding to pages.
    pub footprint: Bytes,
    /// What the random numbers are drawn from.
    pub seed: u64,
}

impl Settings {
    /// Holds that the footprint is at least `least` bytes, and at most `most`.
    fn check(&self, least: u64, most: Bytes) -> Result<()> {
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

/// So many zeros, for what a kernel really keeps in memory.
fn zeroed<T: Clone + Default>(len: u64) -> Result<Vec<T>> {
    let mut values = Vec::new();
    values.try_reserve_exact(len as usize).map_err(|_| {
        let bytes = Bytes(len * size_of::<T>() as u64);
        Error::failure(format!(
            "there is no memory for {bytes} that this kind keeps; ask for a smaller footprint"
        ))
    })?;
    values.resize(len as usize, T::default());
    Ok(values)
}

/// A program's loop that notes what it touches.
trait Kernel: Send {
    /// Does the next few accesses. Returns false, and does none, at the end.
    fn step(&mut self, log: &mut Log) -> bool;
}

/// A kernel as a [`Source`].
struct Generated<K> {
    meta: Meta,
    kernel: K,
    log: Log,
    left: u64,
}

/// A trace of `kernel`, described by its kind, the settings and its own options.
fn generated(
    kind: &str,
    settings: &Settings,
    options: &[(&str, String)],
    kernel: impl Kernel + 'static,
) -> Box<dyn Source> {
    let common = [
        ("kind", kind.to_owned()),
        ("footprint", settings.footprint.0.to_string()),
        ("seed", settings.seed.to_string()),
    ];
    let about = common.iter().chain(options);
    Box::new(Generated {
        meta: Meta {
            format: "generated".into(),
            accesses: None,
            counts_instructions: true,
            about: about.map(|(k, v)| ((*k).to_owned(), v.clone())).collect(),
        },
        kernel,
        log: Log::default(),
        left: settings.accesses,
    })
}

impl<K: Kernel> Source for Generated<K> {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn read(&mut self, block: &mut Block) -> Result<()> {
        self.log.begin(block);
        let wanted = self.left.min(BLOCK as u64) as usize;
        while self.log.len() < wanted && self.kernel.step(&mut self.log) {}
        // The last step may do more than was wanted: the block is longer, or the trace cut.
        self.left -= self.log.end(block, self.left);
        Ok(())
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

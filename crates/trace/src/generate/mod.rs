//! Traces of well-known access patterns, made while they are read.
//!
//! Each generator is the loop of a real kernel that logs its loads and stores, as a compiler that
//! keeps scalars in registers would leave them. The trace is not stored; only data that the kernel
//! itself reads, such as a hash table or a graph, lies in memory. The same [`KernelSettings`] and
//! options give the same trace on every machine: all that is drawn comes from xoshiro256++ in
//! integers, and the logarithms of [`zipf`] come from the crate `libm`, not from the machine.

pub mod bfs;
pub mod chase;
pub mod gups;
pub mod join;
mod kernel;
mod log;
pub mod matmul;
mod permutation;
pub mod postmark;
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
pub use postmark::Postmark;
pub use sequential::Sequential;
pub use stencil::Stencil;
pub use strided::Strided;
pub use zipf::Zipf;

pub use kernel::{KernelSettings, MAX_BUILT, MAX_FOOTPRINT};

/// Hands the names of all kernels to the macro `$callback`, which makes what is needed of each: the
/// only list of kernels.
#[macro_export]
macro_rules! kernels {
    ($callback:ident) => {
        $callback! { Sequential, Strided, Zipf, Chase, Gups, Matmul, Stencil, Join, Bfs, Postmark }
    };
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

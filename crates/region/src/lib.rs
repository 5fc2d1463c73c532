//! Memory whose DRAM share is bounded: the pages beyond it lie in a slow memory of choice.
//!
//! An [`Extension`] has a bound of DRAM, a [`slow`] memory, a replacement policy and a write
//! scheme, and maps [`Region`]s. Threads use these as any memory. A touch of a page that is not in
//! DRAM is a fault, which the kernel hands to a thread of this process (userfaultfd); the page
//! comes from the slow memory, and others leave for it, by way of a staging range from which they
//! come back if they are touched soon.
//!
//! ```no_run
//! use terrace_base::Bytes;
//! use terrace_device::Catalogue;
//! use terrace_region::{Extension, Settings, slow::emulated::Emulated};
//!
//! let pcm = Catalogue::builtin().get("pcm")?.timing()?;
//! let settings = Settings::new(Bytes::parse("16M")?, Box::new(Emulated::new(pcm)));
//! let extension = Extension::start(settings)?;
//! let mut region = extension.map(Bytes::parse("64M")?)?;
//! region.as_mut_slice().fill(7);
//! println!("{} pages left", extension.figures().evicted_dirty);
//! # Ok::<(), terrace_base::Error>(())
//! ```
//!
//! Awad, Blagodurov and Solihin, "Write-Aware Management of NVM-based Memory Extensions", ICS 2016,
//! is where the write schemes and first in, first out as the default are from.

mod aside;
pub mod descriptor;
mod end;
mod extension;
pub mod figures;
mod fork;
pub mod judge;
mod mapping;
mod pager;
mod places;
mod ranges;
mod settings;
mod shares;
mod side;
mod signals;
pub mod slow;
mod staging;
mod store;
pub mod streams;
mod thread;
mod uffd;
mod wear;

/// Says whether the kernel allows extended memory to this user.
///
/// # Errors
/// Returns a failure that says what is missing, and what to do.
pub fn check() -> terrace_base::Result<()> {
    pager::open().map(drop)
}

pub use extension::{Extension, Region};
pub use figures::{Board, Counts, Figures};
pub use fork::watch as follow_forks;
pub use settings::Settings;
pub use shares::Shares;

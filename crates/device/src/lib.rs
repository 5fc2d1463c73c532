//! What a memory is: technologies, timing, energy, wear and lifetime.
//!
//! A [`Technology`] is a row of figures, each with its source; the [`Catalogue`] holds built-in
//! technologies (`technologies.toml`) and technologies of a user's file. Unknown figures are
//! `None`, never invented. From a technology follow
//!
//! - its [`Timing`]: the latency of a page, the number served at a time, the speed of the bus.
//!   A [`Queue`] is a device with that timing: a state machine without clock or I/O that a
//!   simulator steps through virtual time;
//! - its [`Channels`], which lines and pages pass that are read and written in place;
//! - its [`Energy`]: power times time for each transfer, standby and refresh for all the time.
//!   It is `None` if no source gives powers;
//! - its lifetime in years ([`lifetime`]): from the writes that a cell sustains and the rate at
//!   which cells are written. [`Wear`] counts what is written of each line under a [`Levelling`]:
//!   none, start-gap, or random swaps, and how often a run can be repeated until a memory fails.
//!
//! Pages are 4 KiB, lines 64 bytes. This crate does not depend on policies or programs.
//!
//! ```
//! use terrace_base::Nanos;
//! use terrace_device::{Catalogue, Class, Kind, Queue, Request};
//!
//! let catalogue = Catalogue::builtin();
//! let mut queue = Queue::new(catalogue.get("pcm")?.timing()?);
//! let (kind, class) = (Kind::Read, Class::Demand);
//! for id in 0..2 {
//!     queue.submit(Nanos(1000), Request { id, kind, class, place: id, bytes: 4096 });
//! }
//! assert_eq!(queue.next_completion(), Some(Nanos(1150)));
//! let first = queue.complete(Nanos(1150)).unwrap();
//! assert_eq!((first.request.id, first.started), (0, Nanos(1000)));
//! assert_eq!(queue.next_completion(), Some(Nanos(1300)));
//! # Ok::<(), terrace_base::Error>(())
//! ```

pub mod catalogue;
pub mod channels;
pub mod devices;
pub mod energy;
mod failure;
pub mod feistel;
pub mod levelling;
pub mod lifetime;
pub mod queue;
pub mod regions;
pub mod start_gap;
pub mod swaps;
pub mod technology;
pub mod timing;
pub mod wear;

pub use catalogue::Catalogue;
pub use channels::Channels;
pub use devices::Devices;
pub use energy::{Consumed, Energy, Unit};
pub use levelling::Levelling;
pub use queue::{Class, Completion, Kind, Queue, Request};
pub use start_gap::StartGap;
pub use technology::{ByteAddressable, Figure, Power, Technology};
pub use timing::{Deadlines, Order, Timing};
pub use wear::{LINE_CELLS, Moved, Wear, Worn};

//! What the crates of Terrace share: errors, units, and files that appear when they are complete.

pub mod apart;
pub mod block;
pub mod bytes;
pub mod companion;
pub mod count;
pub mod error;
pub mod inherited;
mod limit;
pub mod lock;
pub mod memory;
pub mod mounts;
pub mod nanos;
pub mod output;
pub mod process;
pub mod program;
pub mod schema;
pub mod signals;
pub mod statistics;
pub mod unnamed;
pub mod unpanicked;
pub mod user;
mod witness;

pub use apart::keep_apart;
pub use bytes::Bytes;
pub use companion::Companion;
pub use error::{Context, Error, Result};
pub use inherited::{Blocked, Inherited};
pub use lock::lock;
pub use nanos::Nanos;
pub use output::Output;
pub use program::Exit;
pub use signals::{Signals, Target};
pub use statistics::median;
pub use unpanicked::unpanicked;
pub use user::User;

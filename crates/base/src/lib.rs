//! The words everything in Terrace shares: the one error style and the units.

pub mod bytes;
pub mod error;
pub mod nanos;

pub use bytes::Bytes;
pub use error::{Context, Error, Result};
pub use nanos::Nanos;
